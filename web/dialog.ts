/** A modal dialog, with the style sheet of all dialogs. A click beside it closes it. */
export function createDialog(name: string, label: string): HTMLDialogElement {
  const created = document.createElement('dialog')
  created.className = `dialog ${name}`
  created.setAttribute('aria-label', label)
  created.addEventListener('click', ({ target }) => {
    // The backdrop belongs to the dialog.
    if (target === created) created.close()
  })
  const { pathname } = new URL('./dialog.css', import.meta.url)
  if (document.querySelector(`link[href="${pathname}"]`) === null) {
    const style = document.createElement('link')
    style.rel = 'stylesheet'
    style.href = pathname
    document.head.append(style)
  }
  document.body.append(created)
  return created
}
