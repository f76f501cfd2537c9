import { render } from './lit.ts'
import { follow } from './live.ts'
import { overview } from './overview.ts'

const page = document.getElementById('page')
if (page === null) throw new Error('index.html has no #page')

const TITLE_MARK = { up: '', degraded: '▲ ', down: '✕ ', maintenance: '', unknown: '? ' }
let drawn = 0
const live = follow(draw)

/** Once a frame at most, however much comes in. */
function draw(): void {
  if (drawn !== 0) return
  drawn = requestAnimationFrame(() => {
    drawn = 0
    const { status, incidents, contact, nowMs } = live.look()
    if (page?.querySelector('.waiting')) page.replaceChildren()
    if (page !== null) render(overview({ status, incidents, contact, nowMs }), page)
    document.title = contact.kind === 'stale' ? '? Heartline' : `${TITLE_MARK[status?.state ?? 'unknown']}Heartline`
  })
}

// Ages grow, and silence has to be noticed, without any news.
setInterval(draw, 1000)
