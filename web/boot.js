// Applies the stored settings before the first paint, so that nothing flashes. All else is done by app.js.
{
  const { classList } = document.documentElement
  classList.add('js')
  try {
    const { theme, density } = JSON.parse(localStorage.getItem('heartline') ?? '{}')
    if (theme === 'light' || theme === 'dark') classList.add(theme)
    if (density === 'dense') classList.add('dense')
  } catch {
    // Without storage the defaults apply.
  }
}
