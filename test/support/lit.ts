// Tests load lit-html's development build for its checks; that it says so every time helps nobody.
Object.assign(globalThis, { litIssuedWarnings: new Set(['dev-mode']) })
