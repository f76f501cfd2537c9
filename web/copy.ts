const SHOWN_MS = 2000

/** Copies the text of the element that the button names in `data-copy`, and says `data-copied` on it. Loaded when one is first pressed. */
export async function copy(button: HTMLElement): Promise<void> {
  const from = document.getElementById(button.dataset.copy ?? '')
  if (from === null || !(await copyText(from))) return
  const label = button.lastChild
  const { copied = '' } = button.dataset
  if (!(label instanceof Text) || label.data === copied) return
  const before = label.data
  label.data = copied
  setTimeout(() => {
    label.data = before
  }, SHOWN_MS)
}

async function copyText(from: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(from.textContent ?? '')
    return true
  } catch {
    // Over plain HTTP there is no clipboard: then it is selected, for the reader's own keys.
    getSelection()?.selectAllChildren(from)
    return false
  }
}
