/** Texts that stand for secrets, each in one place, and the search for them in whatever a program has said or written. */
export interface Canaries {
  /** The text of the place of this name; the same each time. */
  of(place: string): string
  /** What was made elsewhere and is a secret too. */
  add(place: string, text: string): void
  /** Where they were found: the place, the form and where it was. */
  foundIn(where: string, bytes: Buffer | string): string[]
}

export function createCanaries(): Canaries {
  const needles: { readonly place: string; readonly form: string; readonly text: string; readonly anyCase: boolean }[] =
    []
  const texts = new Map<string, string>()

  function add(place: string, text: string): void {
    texts.set(place, text)
    const bytes = Buffer.from(text)
    const put = (form: string, needle: string, anyCase: boolean) => {
      needles.push({ place, form, text: anyCase ? needle.toLowerCase() : needle, anyCase })
    }
    put('as it is', text, true)
    put('backwards', text.split('').toReversed().join(''), true)
    put('hexadecimal', bytes.toString('hex'), true)
    put('percent-encoded', [...bytes].map((byte) => `%${byte.toString(16)}`).join(''), true)
    put('UTF-16', Buffer.from(text, 'utf16le').toString('latin1'), true)
    put('as numbers', [...bytes].join(','), false)
    // Within a longer text it may begin at each of three places; what its neighbours have a share in is left out.
    for (const before of [0, 1, 2]) {
      const base64 = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
      const own = base64.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6))
      put('base64', own, false)
      put('base64url', own.replaceAll('+', '-').replaceAll('/', '_'), false)
    }
  }

  return {
    of(place) {
      const known = texts.get(place)
      if (known !== undefined) return known
      // Letters of both cases and digits, which mean the same in a path, a header, YAML and a host name.
      const fresh = `cNry${(texts.size + 10).toString(36)}Qz7${Buffer.from(place).toString('hex').slice(0, 12)}xW`
      add(place, fresh)
      return fresh
    },
    add,
    foundIn(where, bytes) {
      const text = typeof bytes === 'string' ? Buffer.from(bytes).toString('latin1') : bytes.toString('latin1')
      const lower = text.toLowerCase()
      return needles
        .filter((needle) => (needle.anyCase ? lower : text).includes(needle.text))
        .map(({ place, form }) => `${where}: ${place}, ${form}`)
    },
  }
}
