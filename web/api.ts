import { get, isPublic, overviewApi } from './request.ts'
import type { Answer, Sources } from './views/view.ts'

/** Loads data for views from the API. Loaded with the first view that is not the overview. */
export const api: Sources = {
  ...overviewApi,
  network: (name) => get(`/api/v1/networks/${encodeURIComponent(name)}`),
  blocks: (network) => getPrivate(`/api/v1/networks/${encodeURIComponent(network)}/blocks`),
  routing: (network) => getPrivate(`/api/v1/networks/${encodeURIComponent(network)}/routing`),
  endpoint: (network, endpoint) => get(endpointAt(network, endpoint)),
  history: ({ network, endpoint, fromMs, toMs, stepSeconds }) =>
    getPrivate(`${endpointAt(network, endpoint)}/history`, { from: fromMs / 1000, to: toMs / 1000, step: stepSeconds }),
  polls: ({ network, endpoint, fromMs, toMs }) =>
    getPrivate(`${endpointAt(network, endpoint)}/polls`, { from: fromMs / 1000, to: toMs / 1000 }),
  rules: (network, endpoint) => getPrivate(`${endpointAt(network, endpoint)}/rules`),
  incidents: (filter) => get('/api/v1/incidents', filter),
  incident: (id) => get(`/api/v1/incidents/${encodeURIComponent(id)}`),
  async postMortem(id, zone) {
    const inZone = (query: object) =>
      get<string>(`/api/v1/incidents/${encodeURIComponent(id)}.txt`, query, (answer) => answer.text())
    const local = zone === 'local' ? await inZone({ zone: Intl.DateTimeFormat().resolvedOptions().timeZone }) : null
    // The daemon may not know the browser's zone.
    return local?.ok ? local : inZone({})
  },
  runbook: (name) => get(`/api/v1/runbooks/${encodeURIComponent(name)}`, {}, (answer) => answer.text()),
  gateway: () => get('/api/v1/gateway'),
  observer: () => get('/api/v1/observer'),
  notifications: () => get('/api/v1/notifications'),
  silences: () => getPrivate('/api/v1/silences'),
}

function endpointAt(network: string, endpoint: string): string {
  return `/api/v1/endpoints/${encodeURIComponent(network)}/${encodeURIComponent(endpoint)}`
}

/** Without a token, private routes are not requested: the browser would log each 401 as an error of the page. */
async function getPrivate<T>(path: string, query: object = {}): Promise<Answer<T>> {
  return isPublic() ? { ok: false, why: 'locked' } : get(path, query)
}
