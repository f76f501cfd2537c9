/** Copies the text of the element named by `data-copy`, and shows `data-copied` on the button. Loaded on first use. */
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
  }, FEEDBACK_MS)
}

const FEEDBACK_MS = 2000

async function copyText(from: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(from.textContent ?? '')
    return true
  } catch {
    // Plain HTTP has no clipboard API: select the text so that the user can copy it. A closed part has nothing to select.
    const part = from.closest('details')
    if (part !== null) part.open = true
    getSelection()?.selectAllChildren(from)
    return false
  }
}
