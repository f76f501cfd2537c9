/**
 * Lets all tabs of a browser share one event stream, because HTTP/1.1 has six connections per host. The tab that holds a
 * Web Lock leads, and passes on what it receives. Without Web Locks (no HTTPS), each visible tab has its own stream.
 */
export function joinTabs<News>({ name, lead, receive, whole }: TabsOptions<News>): Tabs<News> {
  const { locks } = navigator as { readonly locks?: LockManager }
  if (locks === undefined) return stayAlone(lead)
  const holder = locks
  const channel = new BroadcastChannel(name)
  const stopped = new AbortController()
  let leading: AbortController | null = null
  let unanswered: ReturnType<typeof setTimeout> | undefined
  /** The answer is large, and one is enough for all changes that come before it. */
  let isAsking = false

  function post(message: Message<News>): void {
    if (!stopped.signal.aborted) channel.postMessage(message)
  }

  function answer(): void {
    const news = whole()
    post(news === null ? { leads: visibility() } : { news })
  }

  channel.addEventListener('message', ({ data }: MessageEvent<Message<News>>) => {
    if (!('hello' in data)) clearTimeout(unanswered)
    if ('news' in data) {
      if (leading === null) receive(data.news)
    } else if ('leads' in data) {
      if (data.leads === 'hidden' && !document.hidden) sayHello()
    } else if (leading !== null) {
      // The browser may freeze a hidden tab.
      if (document.hidden && data.hello === 'visible') leading.abort()
      else answer()
    }
  })

  function sayHello(): void {
    if (leading !== null) return
    post({ hello: visibility() })
    if (document.hidden) return
    clearTimeout(unanswered)
    unanswered = setTimeout(() => void takeLead(true), UNANSWERED_MS)
  }

  async function takeLead(steal: boolean): Promise<void> {
    if (leading !== null || stopped.signal.aborted) return
    const mine = new AbortController()
    const work = async () => {
      leading = mine
      post({ leads: visibility() })
      await lead(AbortSignal.any([stopped.signal, mine.signal]))
    }
    try {
      await holder.request(name, steal ? { steal } : { signal: stopped.signal }, work)
    } catch {
      // Another tab took the lead.
    } finally {
      mine.abort()
      if (leading === mine) leading = null
    }
    if (!steal) void takeLead(false)
  }

  document.addEventListener('visibilitychange', sayHello, { signal: stopped.signal })
  void takeLead(false)
  sayHello()

  return {
    tell: (news) => post({ news }),
    askWhole() {
      if (isAsking) return
      isAsking = true
      setTimeout(() => {
        isAsking = false
      }, UNANSWERED_MS)
      sayHello()
    },
    mayStream: () => true,
    stop() {
      stopped.abort()
      clearTimeout(unanswered)
      channel.close()
    },
  }
}

function stayAlone(lead: (signal: AbortSignal) => Promise<void>): Tabs<unknown> {
  const stopped = new AbortController()
  // As with a lock, it begins after the caller has what this returns.
  queueMicrotask(() => void lead(stopped.signal))
  return { tell() {}, askWhole() {}, mayStream: () => !document.hidden, stop: () => stopped.abort() }
}

const UNANSWERED_MS = 3000

function visibility(): 'visible' | 'hidden' {
  return document.hidden ? 'hidden' : 'visible'
}

type Message<News> =
  | { readonly news: News }
  | { readonly hello: 'visible' | 'hidden' }
  | { readonly leads: 'visible' | 'hidden' }

export interface TabsOptions<News> {
  /** Shared by the tabs that may see the same data. */
  readonly name: string
  /** Holds the event stream until the signal is aborted. */
  readonly lead: (signal: AbortSignal) => Promise<void>
  /** News from the leading tab. */
  readonly receive: (news: News) => void
  /** All that is known, for a tab that joins. */
  readonly whole: () => News | null
}

export interface Tabs<News> {
  /** Passes news on to the other tabs. */
  tell(news: News): void
  /** Asks the leading tab for all that is known. */
  askWhole(): void
  /** Whether this tab may hold a stream; otherwise it polls. */
  mayStream(): boolean
  stop(): void
}
