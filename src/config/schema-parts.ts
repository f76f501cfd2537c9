import * as z from 'zod'
import { type About, name } from './scalars.ts'

/** Mappings and lists of the configuration file, which say what they expected and never what they found. */

const expected = (what: string) => ({
  error: ({ input }: { readonly input?: unknown }) => (input === undefined ? 'required' : `expected ${what}`),
})

/** A mapping whose keys all have defaults, so it may be omitted. */
export function section<T extends z.ZodRawShape>(description: string, shape: T) {
  return z
    .strictObject(shape, expected('a mapping'))
    .prefault({} as never)
    .meta({ description })
}

export function mapping<T extends z.ZodRawShape>(description: string, shape: T) {
  return z.strictObject(shape, expected('a mapping')).meta({ description })
}

export function list<T extends z.ZodType>(item: T, about: About) {
  const { description, defaultText } = about
  return z.array(item, expected('a list')).meta({ description, ...(defaultText ? { defaultText } : {}) })
}

/** A list that must not be empty. `what` is one of its items. */
export function atLeastOne<T extends z.ZodType>(what: string, item: T, about: About) {
  return list(item, about).min(1, { error: `expected at least one ${what}` })
}

/** The names of some networks; by default it is about all. */
export function networkNames(description: string) {
  return atLeastOne('network', name({ description: 'A network.' }), { description, defaultText: 'all' }).optional()
}

/** The names of some endpoints; by default it is about all. */
export function endpointNames(description: string) {
  return atLeastOne('endpoint', name({ description: 'An endpoint.' }), { description, defaultText: 'all' }).optional()
}
