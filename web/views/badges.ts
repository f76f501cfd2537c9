import { html, nothing, type TemplateResult } from './lit.ts'

/** A picture of a state, or a frame, for other pages. */
export interface Embeddable {
  /** For ids of elements. */
  readonly name: string
  readonly title: string
  readonly picture?: Picture
  /** By name of the markup; empty until the origin is known. */
  readonly codes: Readonly<Record<string, string>>
}

interface Picture {
  readonly address: string
  readonly alt: string
}

const WORDS_OF_BADGES = { heading: 'Badge', copy: 'Copy', copied: 'Copied' } as const

/** What other pages can show, with the code for it. */
export function badgesSection(all: readonly Embeddable[], look: 'panel' | 'card wide'): TemplateResult {
  const { heading, copy, copied } = WORDS_OF_BADGES
  return html`
    <section class="badges ${look}" aria-labelledby="badges">
      <h2 id="badges">${heading}</h2>
      ${all.map(
        ({ name, title, picture, codes }, at) => html`
          <details name="badge" ?open=${at === 0}>
            <summary>${picture === undefined ? nothing : html`<img src=${picture.address} alt=${picture.alt} height="20" /> `}<span>${title}</span></summary>
            ${Object.entries(codes).map(([markup, code]) => {
              const id = `embed-${name}-${markup.toLowerCase()}`
              return html`
              <p class="embed">
                <span>${markup}</span>
                <code id=${id} tabindex="0">${code}</code>
                <button type="button" data-act="copy" data-copy=${id} data-copied=${copied} aria-label="${copy}: ${title}, ${markup}">${copy}</button>
              </p>
            `
            })}
          </details>
        `,
      )}
    </section>
  `
}

/**
 * The code needs the origin, which only the browser knows. Each `version` is a picture of its own to the browser, which
 * otherwise keeps showing the first one.
 */
export function badge({ name, title, address, page, alt, origin, version }: Badge): Embeddable {
  const picture = `${address}${address.includes('?') ? '&' : '?'}v=${encodeURIComponent(version)}`
  const codes = {
    HTML: `<a href="${attribute(origin + page)}"><img src="${attribute(origin + address)}" alt="${attribute(alt)}"></a>`,
    Markdown: `[![${alt.replace(/[[\]\\]/g, '\\$&')}](${origin}${address})](${origin}${page})`,
  }
  return { name, title, picture: { address: picture, alt }, codes: origin === '' ? {} : codes }
}

interface Badge extends Pick<Embeddable, 'name' | 'title'> {
  readonly address: string
  /** The path of the view to which it links. */
  readonly page: string
  readonly alt: string
  readonly origin: string
  readonly version: string
}

/** Escapes a title for an attribute of the shown code. */
export function attribute(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/"/g, '&quot;').replace(/</g, '&lt;')
}
