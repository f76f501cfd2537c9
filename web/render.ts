import { type Guarded, type Keyed, nothing, type TemplateResult } from './views/lit.ts'

/** Draws a template at the end of an element, or changes what it drew there before: only where a value is another one. */
export function render(drawing: unknown, into: Element): void {
  let slot = roots.get(into)
  if (slot === undefined) {
    slot = { start: into.appendChild(document.createComment('')), end: null }
    roots.set(into, slot)
  }
  show(slot, drawing)
}

const roots = new WeakMap<Element, Slot>()

/** The place of a value between tags: what is after `start`, up to `end` or the last node. Shows at most one of the optional ones. */
interface Slot {
  readonly start: Comment
  readonly end: Node | null
  text?: Text | undefined
  instance?: Instance | undefined
  items?: readonly Item[] | undefined
  /** Of the value that drew what is shown, if it was guarded. */
  guards?: readonly unknown[] | undefined
}

interface Item {
  readonly key: unknown
  readonly slot: Slot
}

interface Instance {
  readonly strings: readonly string[]
  readonly places: readonly (Slot | Attribute)[]
}

/** An attribute, or for `.name` and `@name` a property, with the text around its values. */
interface Attribute {
  readonly element: Element
  readonly name: string
  readonly texts: readonly string[]
  shown: unknown
}

function show(slot: Slot, value: unknown): void {
  if (isOf<Guarded>(value, 'guards')) {
    const { guards, draw } = value
    if (slot.guards?.length === guards.length && guards.every((one, at) => one === slot.guards?.[at])) return
    show(slot, draw())
    slot.guards = guards
    return
  }
  slot.guards = undefined
  if (Array.isArray(value)) return showList(slot, value, [...value.keys()])
  if (isOf<Keyed>(value, 'keys')) return showList(slot, value.items, value.keys)
  if (isOf<TemplateResult>(value, 'strings')) return showTemplate(slot, value)
  const text = textOf(value)
  if (slot.text !== undefined) {
    if (slot.text.data !== text) slot.text.data = text
    return
  }
  clear(slot)
  if (text !== '') insert(slot, (slot.text = document.createTextNode(text)))
}

function textOf(value: unknown): string {
  return value === nothing ? '' : String((value as string | number | boolean | null | undefined) ?? '')
}

function isOf<T>(value: unknown, property: keyof T & string): value is T {
  return typeof value === 'object' && value !== null && property in value
}

function clear(slot: Slot): void {
  slot.text = slot.instance = slot.items = undefined
  while (slot.start.nextSibling !== slot.end) slot.start.nextSibling?.remove()
}

function insert({ start, end }: Slot, node: Node): void {
  start.parentNode?.insertBefore(node, end)
}

function showTemplate(slot: Slot, template: TemplateResult): void {
  if (slot.instance?.strings !== template.strings) {
    clear(slot)
    const [instance, content] = instantiate(template)
    fill(instance, template.values)
    insert(slot, content)
    slot.instance = instance
  } else fill(slot.instance, template.values)
}

function fill({ places }: Instance, values: readonly unknown[]): void {
  let at = 0
  for (const place of places) {
    if ('start' in place) show(place, values[at++])
    else setAttribute(place, values.slice(at, (at += place.texts.length - 1)))
  }
}

function setAttribute(attribute: Attribute, values: readonly unknown[]): void {
  const { element, name, texts, shown } = attribute
  const kind = name[0] ?? ''
  const isNothing = values.includes(nothing)
  const value = '.@'.includes(kind)
    ? values[0]
    : kind === '?'
      ? !isNothing && Boolean(values[0])
      : isNothing
        ? null
        : texts.map((text, at) => (at === 0 ? '' : textOf(values[at - 1])) + text).join('')
  if (value === shown) return
  attribute.shown = value
  if (kind === '.') Object.assign(element, { [name.slice(1)]: value })
  else if (kind === '@') Object.assign(element, { [`on${name.slice(1)}`]: value })
  else if (kind === '?') element.toggleAttribute(name.slice(1), value === true)
  else if (value === null) element.removeAttribute(name)
  else element.setAttribute(name, textOf(value))
}

/** Moves as few elements as there are that changed their place, mostly one. */
function showList(slot: Slot, values: readonly unknown[], keys: readonly unknown[]): void {
  if (slot.items === undefined) clear(slot)
  const known = new Map(slot.items?.map((item) => [item.key, item]))
  const items = keys.map((key): Item => {
    const item = known.get(key) ?? { key, slot: { start: document.createComment(''), end: document.createComment('') } }
    known.delete(key)
    return item
  })
  const kept = new Set(items)
  for (const item of slot.items ?? [])
    if (!kept.has(item)) for (const node of nodesOf(item)) node.parentNode?.removeChild(node)
  const before = slot.items?.filter((item) => kept.has(item)) ?? []
  const moved = new Set<Item>()
  let next = 0
  for (const [at, item] of items.entries()) {
    while (moved.has(before[next] as Item)) next++
    if (item === before[next]) next++
    // The one before it goes elsewhere.
    else if (item === before[next + 1]) next += 2
    else {
      const to = before[next]?.slot.start ?? slot.end
      for (const node of nodesOf(item)) slot.start.parentNode?.insertBefore(node, to)
      moved.add(item)
    }
    show(item.slot, values[at])
  }
  slot.items = items
}

function nodesOf({ slot: { start, end } }: Item): readonly Node[] {
  const nodes: Node[] = [start]
  // A new one has nothing between the two yet.
  for (let node = start.nextSibling; node !== null && node !== end; node = node.nextSibling) nodes.push(node)
  return end === null ? nodes : [...nodes, end]
}

interface Compiled {
  readonly content: DocumentFragment
  /** Where the values are: the place of the node among all elements and comments. Of an attribute, its name and texts. */
  readonly holes: readonly { readonly at: number; readonly name?: string; readonly texts?: readonly string[] }[]
}

const compiled = new WeakMap<readonly string[], Compiled>()

function instantiate(template: TemplateResult): [Instance, DocumentFragment] {
  const { strings } = template
  let known = compiled.get(strings)
  if (known === undefined) compiled.set(strings, (known = compile(template)))
  const content = document.importNode(known.content, true)
  const walker = walk(content)
  let at = -1
  const places = known.holes.map((hole) => {
    for (; at < hole.at; at++) walker.nextNode()
    const node = walker.currentNode
    return hole.name === undefined || hole.texts === undefined
      ? { start: node as Comment, end: node.nextSibling }
      : { element: node as Element, name: hole.name, texts: hole.texts, shown: undefined }
  })
  return [{ strings, places }, content]
}

/** Stands for a value in the HTML that is parsed. */
const VALUE = '\uf8ff'

/** The last `<` or `>` says whether a value is in a tag; a template for which that is wrong is refused. */
function compile({ strings, isSvg }: TemplateResult): Compiled {
  let text = ''
  for (const [at, string] of strings.entries()) {
    text += string
    if (at < strings.length - 1) text += text.lastIndexOf('<') > text.lastIndexOf('>') ? VALUE : `<!--${VALUE}-->`
  }
  // The place of a value ends with the node behind it.
  if (text.endsWith('->')) text += '<!---->'
  const element = document.createElement('template')
  element.innerHTML = isSvg ? `<svg>${text}</svg>` : text
  const { content } = element
  if (isSvg) content.firstChild?.replaceWith(...(content.firstChild?.childNodes ?? []))
  const holes: Compiled['holes'][number][] = []
  const walker = walk(content)
  for (let at = 0; walker.nextNode() !== null; at++) {
    const node = walker.currentNode
    if (node instanceof Comment) {
      if (node.data === VALUE) holes.push({ at })
    } else if (node instanceof Element)
      for (const name of node.getAttributeNames()) {
        const texts = (node.getAttribute(name) ?? '').split(VALUE)
        if (texts.length === 1) continue
        holes.push({ at, name, texts })
        node.removeAttribute(name)
      }
  }
  const found = holes.reduce((sum, { texts = ['', ''] }) => sum + texts.length - 1, 1)
  if (found !== strings.length || holes.some(({ texts }) => texts?.[0]?.endsWith('<!--')))
    throw new TypeError(`a template with a value in a wrong place: ${text}`)
  return { content, holes }
}

/** Elements and comments. */
function walk(content: Node): TreeWalker {
  return document.createTreeWalker(content, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_COMMENT)
}
