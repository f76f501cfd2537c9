import { DEFAULT_SETTINGS, type Settings } from './views/view.ts'

/** The user's settings. Some are stored by the browser; `boot.js` applies those before the first paint. */
export function createSettings(changed: () => void) {
  let settings: Settings = { ...DEFAULT_SETTINGS, ...stored() }

  function change(next: Partial<Settings>): void {
    settings = { ...settings, ...next }
    const { theme, density } = settings
    try {
      localStorage.setItem(STORAGE_KEY, JSON.stringify(settings))
    } catch {
      // Without storage the settings last while the page is open.
    }
    const { classList } = document.documentElement
    for (const one of THEMES) classList.toggle(one, one === theme && one !== 'auto')
    classList.toggle('dense', density === 'dense')
    changed()
  }

  // The next change here must not undo what another tab has saved.
  addEventListener('storage', () => {
    settings = { ...settings, saved: stored().saved ?? [] }
    changed()
  })

  return { current: (): Settings => settings, change }
}

export type SettingsStore = ReturnType<typeof createSettings>

const STORAGE_KEY = 'heartline'
export const THEMES = ['auto', 'light', 'dark'] as const

/** Only values that this version knows: another version may have stored others. */
function stored(): Partial<Settings> {
  try {
    const { theme, zone, density, layout, folded, saved } = JSON.parse(
      localStorage.getItem(STORAGE_KEY) ?? '{}',
    ) as Partial<Settings>
    return {
      ...(theme !== undefined && THEMES.includes(theme) ? { theme } : {}),
      ...(zone === 'utc' ? { zone } : {}),
      ...(density === 'dense' ? { density } : {}),
      ...(layout === 'list' || layout === 'wall' ? { layout } : {}),
      folded: textsOf(folded),
      saved: textsOf(saved),
    }
  } catch {
    return {}
  }
}

function textsOf(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.filter((one) => typeof one === 'string') : []
}
