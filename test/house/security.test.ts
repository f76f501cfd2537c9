import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkout } from '../support/project.ts'

const read = (path: string) => readFileSync(join(checkout, path), 'utf8')
const page = read('docs/security.md').replace(/\s+/g, ' ')

/** What docs/security.md promises, in its words, and the test that proves it. */
const PROMISES = [
  [
    'Page and gateway listen on 127.0.0.1 by default',
    'config/load.test.ts',
    'the smallest file gets the documented ones',
  ],
  [
    'delays or loses its own messages, not those of other channels and no poll',
    'daemon/notify.test.ts',
    'a channel that hangs keeps no other channel and no poll waiting',
  ],
  [
    'They need the token.',
    'http/silences.test.ts',
    'ending one has the same rules, and the public may not even see them',
  ],
  ['It gives 403 to web pages of other sites', 'http/hosts.test.ts', 'a probe that a browser sends with %o gets %i'],
  ['they are only for clients on this machine', 'http/silences.test.ts', "['another machine, without a token', 403"],
  [
    '`server.listen` must be a loopback address',
    'http/silences.test.ts',
    "['a client without the token, where the listener is not on loopback', 403",
  ],
  [
    'every address in `X-Forwarded-For`, `Forwarded` and `X-Real-IP`',
    'http/silences.test.ts',
    "['another machine, by X-Real-IP', 403",
  ],
  [
    'must be declared as JSON (415)',
    'http/silences.test.ts',
    "['plain text', { headers: { 'content-type': 'text/plain' } }, 415]",
  ],
  ['`Sec-Fetch-Site` must be `same-origin`', 'http/silences.test.ts', "['a page of another port or subdomain', 403"],
  ['never gives it', 'http/silences.test.ts', 'a preflight of another site is not allowed'],
  ['all others get 421', 'http/hosts.test.ts', '%s is misdirected, on every route'],
  ['with a host in the request line', 'http/hosts.test.ts', 'a request line with a host of its own is misdirected'],
  ['…/notes`, `/api/v1/gateway`', 'http/server.test.ts', 'and public, a note needs it'],
  ['and of the page `/gateway` and `/notifications` | 401', 'http/server.test.ts', 'and public, %s is 401 without it'],
  [
    '| 401 | everything |',
    'http/server.test.ts',
    'the public sees names and states only, readers with the token see everything',
  ],
  ['A wrong token is rejected', 'http/server.test.ts', 'a wrong token is rejected even where no token is needed'],
  ['then only has a sign-in form', 'http/pages.test.ts', 'private views ask for it with a form'],
  [
    'no log, metric, page, response, error or row',
    'daemon/canary.test.ts',
    'the live events, the logs and every byte that was written',
  ],
  ['replaced by `[redacted]`', 'nodes/redact.test.ts', 'a secret in a node’s text is removed: %s'],
  [
    'also within a longer text',
    'nodes/redact.test.ts',
    'a secret within a longer text in base64 is removed, %i bytes after its beginning',
  ],
  ['in up to four layers', 'nodes/redact.test.ts', 'a secret is removed in up to four layers of escapes for %s'],
  [
    'twelve) are not replaced',
    'nodes/redact.test.ts',
    'parts of fewer than four characters are shown, in responses of the gateway those of fewer than twelve',
  ],
  [
    'What a messaging service repeats',
    'daemon/canary.test.ts',
    'the errors of channels whose receivers repeat our secrets',
  ],
  [
    'URLs, headers, callers and certificates change at once',
    'gateway/callers.test.ts',
    'a reload takes an id away at once',
  ],
  [
    'URLs, headers, callers and certificates change at once',
    'daemon/tls.test.ts',
    'a reload changes the URL and headers of an endpoint and both certificates at once, and the token at a restart',
  ],
  ['the token needs a restart', 'daemon/tls.test.ts', 'both certificates at once, and the token at a restart'],
  ['the token needs a restart', 'config/reload.test.ts', "'server.token',"],
  ['TLS 1.2 and later', 'http/tls.test.ts', 'TLS before 1.2 is refused'],
  ['without interruption', 'http/tls.test.ts', 'HTTPS serves, and takes a new certificate without a restart'],
  ['TLS 1.2 and later', 'gateway/tls.test.ts', 'TLS before 1.2 is refused, also after a reload'],
  [
    'without interruption',
    'gateway/tls.test.ts',
    'a new certificate is for new connections, and those that are open go on',
  ],
  ['are verified against', 'nodes/tls.test.ts', 'of an unknown authority, or of none, is not trusted'],
  ['`tls.insecure` accepts any certificate', 'nodes/tls.test.ts', 'may be anyone’s if insecure is set'],
  [
    'until the tab is closed or the user signs out',
    'web/session.test.ts',
    'the token is kept in the tab until its user',
  ],
  [
    'only to the holder of the configured certificate',
    'daemon/people.test.ts',
    'sends its token to the holder of the configured',
  ],
  ['every user of the machine can read it', 'config/load.test.ts', 'warningsOf(config, 0o644)).toEqual([WARNING])'],
  ['`check-config` warns', 'config/load.test.ts', 'what is doubtful is said, and runs'],
  ['rejects a compressed response', 'nodes/forward.test.ts', 'refuses a compressed answer, as it asks for none: %s'],
  ['within the same limit and timeout', 'nodes/client.test.ts', 'decompression of a bomb ends with the deadline'],
  ['plus 128 KiB', 'nodes/client.test.ts', 'besides its body at most as many bytes and 128 KiB are taken: %s'],
  [
    'one for each 64 bytes',
    'nodes/client.test.ts',
    'at most 1,000 chunks are taken, and one more for each 64 bytes: %s',
  ],
  [
    'Bytes after a response close its connection',
    'nodes/client.test.ts',
    'is closed, and no other request is sent over it: %s',
  ],
  ['Redirects are never followed', 'nodes/client.test.ts', 'that redirects is handed over, not followed'],
  ['Redirects are never followed', 'nodes/forward.test.ts', 'follows no redirect'],
  ['no route takes a URL', 'daemon/probe.test.ts', 'no route sends a request to an address that a client names'],
  [
    'and the monitoring running',
    'daemon/flood.test.ts',
    'uses up no descriptors that polls need, and page and gateway answer',
  ],
  ['never as HTML', 'http/pages.test.ts', 'shows messages of nodes as text'],
  ['a fixed list of headers', 'nodes/forward.test.ts', 'carries our headers and the configured ones, and none else'],
  ['a fixed list of headers', 'gateway/hostile-targets.test.ts', 'the caller’s own headers reach no node'],
  ['a path of plain characters', 'gateway/hostile-targets.test.ts', 'with an encoded endpoint_id'],
  [
    'identified and allowed one by one',
    'gateway/hostile-bodies.test.ts',
    'what is sent on is the call and nothing else, however it was spelled',
  ],
  [
    'calls in flight, connections to an endpoint',
    'gateway/hostile-callers.test.ts',
    'a caller with hundreds of hanging calls leaves connections and calls to the others',
  ],
  [
    'memory for bodies',
    'gateway/hostile-callers.test.ts',
    'bodies that one caller sends and never ends cost the others nothing',
  ],
  ['in which callers take turns', 'gateway/loop-turns.test.ts', 'a caller waits for none of the calls of another one'],
  [
    'Every wrong `endpoint_id` gets the same response',
    'daemon/canary.test.ts',
    'answers to unauthorized requests with similar ids and tokens',
  ],
  ['is sent to one node, once', 'gateway/aliases.test.ts', 'is never sent again: 504, and the alias is not served'],
  [
    'opens no other admin method',
    'gateway/aliases.test.ts',
    'never opens an API of the node itself, a wallet, a WebSocket',
  ],
  [
    'a line in the log and a row in the store',
    'gateway/aliases.test.ts',
    'is one line of the log and one row for every call',
  ],
  [
    'at least half of the descriptors',
    'daemon/descriptors.test.ts',
    'both listeners together leave at least half of the descriptors',
  ],
  [
    'the connection that has waited the longest for a request is closed',
    'http/connections.test.ts',
    'the one that has waited the longest for a request is closed for a new one',
  ],
  [
    'takes up to a quarter of the rest, at most 1,024 connections',
    'daemon/descriptors.test.ts',
    '%i descriptors are divided into %o',
  ],
  ['while others hold connections', 'http/connections.test.ts', 'a client is served although 100 connections %s'],
  [
    'A flood of one port leaves the other one',
    'daemon/flood.test.ts',
    'connections to the %s uses up no descriptors that polls need, and page and gateway answer',
  ],
  [
    'health check succeeds while both ports are flooded',
    'daemon/flood.test.ts',
    'uses up no descriptors that polls need, and ends nothing',
  ],
  [
    'read differently with 400',
    'http/hosts.test.ts',
    'a request that a proxy could read differently ends its connection: %s',
  ],
  [
    'in turns',
    'http/connections.test.ts',
    'pipelined requests of one connection begin a few in each iteration of the event loop',
  ],
  ['headers are limited to 8 KiB', 'http/server.test.ts', 'to endless headers is 431, over a real socket'],
  [
    'must arrive within 10 s and the whole request within 15 s',
    'daemon/flood.test.ts',
    'an unfinished head ends its connection after 10 s, an unfinished request after 15 s',
  ],
  [
    'within the concurrency limits of polls',
    'poll/on-demand-polls.test.ts',
    'on-demand polls use at most half of the limits',
  ],
  [
    'a TLS handshake within 10 s',
    'http/tls.test.ts',
    'unfinished TLS handshakes are closed after the timeout for headers',
  ],
  [
    '(in the gateway 8 s)',
    'daemon/tls.test.ts',
    'an unfinished TLS handshake ends after 10 s at the page, after 8 s at the gateway',
  ],
  [
    'TLS handshakes begin one at a time',
    'gateway/tls.test.ts',
    'handshakes that begin together are answered one by one',
  ],
  [
    'TLS handshakes begin one at a time',
    'http/tls.test.ts',
    'TLS handshakes that begin together are answered one by one',
  ],
  [
    'one address after the other, in at most half',
    'gateway/tls.test.ts',
    'a handshake waits for none of the many of another address',
  ],
  [
    'half of the time of the event loop',
    'gateway/paced-handshakes.test.ts',
    'handshakes take at most half of the time',
  ],
  ['512 are kept', 'gateway/tls.test.ts', 'keeps 512 unfinished handshakes, and serves a caller'],
  [
    'closed after two minutes',
    'http/connections.test.ts',
    'is disconnected after two minutes without the end of its answer',
  ],
  [
    '(event streams excepted)',
    'http/connections.test.ts',
    'without the end of its answer, unless that is an event stream',
  ],
  [
    'once 64 MiB wait to be read',
    'http/connections.test.ts',
    'to read is disconnected when answers of 64 MiB wait to be read',
  ],
  ['streams: 256', 'http/events.test.ts', 'takes no more than 256 listeners'],
  [
    'of which half are kept for the token',
    'http/events.test.ts',
    'keeps half of its places for clients with the token',
  ],
  ['16 per address without it', 'http/events.test.ts', 'gives an address without the token 16 places'],
  ['a page without a stream polls instead', 'web/page.test.ts', 'polls if events do not get through, and says so'],
  [
    'eight requests of one address begin',
    'http/connections.test.ts',
    'of all requests of one client eight begin in an iteration of the event loop',
  ],
  ['a tenth while more than 16 wait', 'http/pages.test.ts', 'are drawn after a pause of %s times their drawing'],
  ['further ones get 503', 'http/pages.test.ts', 'are refused while 128 of one client wait, and nobody else is'],
  ['nothing is read from the store', 'http/pages.test.ts', 'read nothing from the store while they are refused'],
  [
    'is not drawn once it has left',
    'http/pages.test.ts',
    'are not drawn for a connection that closed, and its places are free',
  ],
  [
    'for all who want it together',
    'http/pages.test.ts',
    'leave the overview to everybody, also to a client whose places are taken',
  ],
  ['2,048 characters 404', 'http/pages.test.ts', 'answers an address of more than 2,048 characters'],
  ['are sent uncompressed', 'http/compression.test.ts', 'while two texts are compressed, others are sent as they are'],
  [
    'no inline script or style',
    'http/pages.test.ts',
    'follows its own security policy: nothing inline, nothing from other origins',
  ],
  ['cannot be framed', 'http/embed.test.ts', 'may be framed by others, and no other page may'],
  [
    'to everybody, without a script',
    'http/embed.test.ts',
    'shows what the public sees, also to who may see more, and has no script',
  ],
  [
    'removes them and lets it write only',
    'house/packaging.test.ts',
    'takes all capabilities away, and leaves only its own folders writable',
  ],
  ['starts without a shell', 'house/packaging.test.ts', 'starts and asks for health without a shell'],
  [
    'starts no program except itself',
    'house/packaging.test.ts',
    'Heartline starts no program except itself, systemd-notify, and PostgreSQL',
  ],
  [
    'which gets `PATH` and `NOTIFY_SOCKET` of its environment',
    'commands/service-manager.test.ts',
    'passes on nothing of the environment but PATH and NOTIFY_SOCKET',
  ],
  ['which gets `PATH`.', 'daemon/demo-cluster.test.ts', 'PostgreSQL gets no secrets of the environment'],
  [
    'pins every package',
    'house/lock-file.test.ts',
    'every package is pinned to a digest, also the binaries of other systems',
  ],
  [
    'install packages without their scripts',
    'house/prepare.test.ts',
    'npm %s runs the install scripts of packages that `allowScripts` allows, and no others',
  ],
  [
    'install packages without their scripts',
    'house/packaging.test.ts',
    'installs packages without their scripts, except that of SQLite',
  ],
  [
    'contains no program that downloads one',
    'house/packaging.test.ts',
    'leaves no downloader of prebuilt binaries in the image',
  ],
  [
    'set `npm_config_build_from_source=true` for',
    'house/packaging.test.ts',
    'better-sqlite3 downloads no binary where npm_config_build_from_source is set',
  ],
  ['pin images', 'house/packaging.test.ts', 'names the images that it builds on by digest'],
  ['pin images', 'house/packaging.test.ts', '%s names the images of others by digest'],
  [
    'CycloneDX bill of materials',
    'house/pack.test.ts',
    'the bill of materials lists every package that runs with Heartline, and no other',
  ],
  [
    'with mode 0600, whatever the umask',
    'daemon/modes.test.ts',
    'are for the user of the daemon alone, whatever the umask',
  ],
  [
    'it does not change the mode of existing ones',
    'daemon/modes.test.ts',
    'a store and folders that exist keep their modes',
  ],
] as const

test.each(PROMISES)('the page on security promises “%s”, and %s has a test', (promise, file, title) => {
  expect(page).toContain(promise)
  expect(read(join('test', file))).toContain(title)
})

test('the page uses no cookies', () => {
  const files = ['src/http', 'web'].flatMap((room) =>
    readdirSync(join(checkout, room), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => join(room, file)),
  )

  expect(files.length).toBeGreaterThan(100)
  expect(files.filter((file) => /set-cookie|\.cookie\b/i.test(read(file)))).toEqual([])
})
