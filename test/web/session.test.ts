import { Window } from 'happy-dom'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { authHeaders, storeToken, token } from '../../web/session.ts'

const { document, sessionStorage, localStorage } = new Window({ url: 'http://127.0.0.1:9780/' })

beforeEach(() => {
  for (const [name, value] of Object.entries({ document, sessionStorage, localStorage })) vi.stubGlobal(name, value)
})
afterEach(() => {
  storeToken(null)
  vi.unstubAllGlobals()
})

test('the token is kept in the tab until its user signs out, and nowhere else', () => {
  storeToken('a-token-of-the-operator')

  expect(token()).toBe('a-token-of-the-operator')
  expect(authHeaders({ accept: 'text/html' })).toEqual({
    accept: 'text/html',
    authorization: 'Bearer a-token-of-the-operator',
  })
  expect([sessionStorage.length, sessionStorage.getItem(sessionStorage.key(0) ?? '')]).toEqual([
    1,
    'a-token-of-the-operator',
  ])
  expect([document.cookie, localStorage.length]).toEqual(['', 0])

  storeToken(null)

  expect([token(), sessionStorage.length]).toEqual([null, 0])
  expect(authHeaders()).toEqual({})
})

test('without storage the token is kept while the page is open', () => {
  const refuse = () => {
    throw new Error('denied')
  }
  vi.stubGlobal('sessionStorage', { getItem: refuse, setItem: refuse, removeItem: refuse })

  storeToken('a-token-of-the-operator')
  expect(token()).toBe('a-token-of-the-operator')
  storeToken(null)
  expect(token()).toBeNull()
})
