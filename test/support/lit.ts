// Tests load lit-html's development build for its checks; its warning about that is suppressed.
Object.assign(globalThis, { litIssuedWarnings: new Set(['dev-mode']) })
