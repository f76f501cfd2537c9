/** Texts that stand for secrets, each in one place, and the search for them in whatever a program has said or written. */
export interface Canaries {
  /** The text of the place of this name; the same each time. */
  of(place: string): string
  /** What was made elsewhere and is a secret too. */
  add(place: string, text: string): void
  /** Where they were found: the place, the form and where it was. */
  foundIn(where: string, bytes: Buffer | string): string[]
}

interface Form {
  readonly name: string
  readonly text: string
  readonly anyCase: boolean
}

interface Needle extends Form {
  readonly place: string
}

/** What every canary of ours begins with. */
const BEGINNING = 'cNry'

export function createCanaries(): Canaries {
  const texts = new Map<string, string>()
  /** Needles by what they have in common: a text without that has none of them, which spares hundreds of searches. */
  const groups = new Map<string, { readonly common: Form; readonly needles: Needle[] }>()
  const ofBeginning = formsOf(BEGINNING)

  function add(place: string, text: string): void {
    texts.set(place, text)
    for (const [at, form] of formsOf(text).entries()) {
      const common = (text.startsWith(BEGINNING) ? ofBeginning[at] : undefined) ?? form
      const key = `${common.anyCase} ${common.text}`
      const group = groups.get(key) ?? { common, needles: [] }
      groups.set(key, group)
      group.needles.push({ ...form, place })
    }
  }

  return {
    of(place) {
      const known = texts.get(place)
      if (known !== undefined) return known
      // Letters of both cases and digits, which mean the same in a path, a header, YAML and a host name.
      const fresh = `${BEGINNING}${(texts.size + 10).toString(36)}Qz7${Buffer.from(place).toString('hex').slice(0, 12)}xW`
      add(place, fresh)
      return fresh
    },
    add,
    foundIn(where, bytes) {
      const text = typeof bytes === 'string' ? Buffer.from(bytes).toString('latin1') : bytes.toString('latin1')
      const lower = text.toLowerCase()
      const isThere = (form: Form) => (form.anyCase ? lower : text).includes(form.text)
      return [...groups.values()]
        .filter(({ common }) => isThere(common))
        .flatMap(({ needles }) => needles.filter(isThere))
        .map(({ place, name }) => `${where}: ${place}, ${name}`)
    },
  }
}

/** The forms of a text; each holds the same form of every part of it. */
function formsOf(text: string): readonly Form[] {
  const bytes = Buffer.from(text)
  const inAnyCase = (name: string, form: string) => ({ name, text: form.toLowerCase(), anyCase: true })
  return [
    inAnyCase('as it is', text),
    inAnyCase('backwards', text.split('').toReversed().join('')),
    inAnyCase('hexadecimal', bytes.toString('hex')),
    inAnyCase('percent-encoded', [...bytes].map((byte) => `%${byte.toString(16)}`).join('')),
    inAnyCase('UTF-16', Buffer.from(text, 'utf16le').toString('latin1')),
    { name: 'as numbers', text: [...bytes].join(','), anyCase: false },
    // Within a longer text it may begin at each of three places; what its neighbours have a share in is left out.
    ...[0, 1, 2].flatMap((before) => {
      const base64 = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
      const own = base64.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6))
      return [
        { name: 'base64', text: own, anyCase: false },
        { name: 'base64url', text: own.replaceAll('+', '-').replaceAll('/', '_'), anyCase: false },
      ]
    }),
  ]
}
