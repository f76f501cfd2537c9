/** What is read of each, piece by piece with a space between: elements that stand side by side have none in their text. */
export function textsOf(of: HTMLElement, selector: string): string[] {
  return [...of.querySelectorAll(selector)].map((one) => pieces(one).join(' ').replace(/\s+/g, ' ').trim())
}

function pieces(node: Node): string[] {
  return [...node.childNodes].flatMap((child) =>
    child.nodeType === 3 ? [child.textContent?.trim() ?? ''].filter((text) => text !== '') : pieces(child),
  )
}
