// Before the first paint: what the reader chose, so that nothing flashes. Everything else waits for app.js.
{
  const { classList } = document.documentElement
  classList.add('js')
  try {
    const { theme, density } = JSON.parse(localStorage.getItem('heartline') ?? '{}')
    if (theme === 'light' || theme === 'dark') classList.add(theme)
    if (density === 'dense') classList.add('dense')
  } catch {
    // A browser that keeps nothing shows the page as it is.
  }
}
