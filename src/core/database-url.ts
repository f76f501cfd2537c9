/**
 * The URL of each server of a database, in order, as libpq reads `postgres://user:password@a:5432,b:5432/name`: all have the
 * same user, password, database and parameters. `null` if it is none.
 */
export function databaseUrls(url: string): readonly string[] | null {
  const [, start, hosts, rest = ''] = URL_PARTS.exec(url) ?? []
  if (start === undefined || hosts === undefined) return null
  const urls = hosts.split(',').map((host) => `${start}${host}${rest}`)
  return urls.every((one) => URL.canParse(one) && new URL(one).hostname !== '') ? urls : null
}

/** A password may contain `@` and `,`. */
const URL_PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)([/?#].*)?$/
