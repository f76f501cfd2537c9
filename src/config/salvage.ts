import * as z from 'zod'
import { isObject } from '../core/json.ts'

/** A value without its invalid parts. Rules across keys run on it, so that all problems are reported at once. */
export type Draft<T> = T extends readonly (infer Item)[]
  ? readonly (Draft<Item> | undefined)[]
  : T extends Leaf
    ? T
    : { readonly [Key in keyof T]?: Draft<T[Key]> | undefined }

/** Values with methods count as leaves, like strings and numbers. */
type Leaf = string | number | boolean | null | undefined | { reveal(): string } | { host: string; port: number }

export function salvage<T extends z.ZodType>(schema: T, value: unknown): Draft<z.output<T>> | undefined {
  return rescue(schema, value) as Draft<z.output<T>> | undefined
}

function rescue(schema: z.core.$ZodType, value: unknown): unknown {
  const whole = z.safeParse(schema, value)
  if (whole.success) return whole.data
  const inner = unwrap(schema)
  if (inner instanceof z.ZodObject && isObject(value)) {
    const shape = inner.shape as Record<string, z.core.$ZodType>
    return Object.fromEntries(Object.entries(shape).map(([key, item]) => [key, rescue(item, value[key])]))
  }
  if (inner instanceof z.ZodArray && Array.isArray(value)) return value.map((item) => rescue(inner.element, item))
  return undefined
}

function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodPrefault || schema instanceof z.ZodDefault) {
    return unwrap(schema.unwrap())
  }
  return schema
}
