import { expect, test } from 'vitest'
import { databaseUrls } from '../../src/core/database-url.ts'

test.each([
  ['postgres://u:p@a:5432/name', ['postgres://u:p@a:5432/name']],
  ['postgresql://a', ['postgresql://a']],
  [
    'postgres://u:p@a:5432,b:5433/name?sslmode=require',
    ['postgres://u:p@a:5432/name?sslmode=require', 'postgres://u:p@b:5433/name?sslmode=require'],
  ],
  ['postgres://u:p@a,b?x=1', ['postgres://u:p@a?x=1', 'postgres://u:p@b?x=1']],
  ['postgres://u:p@[::1]:5432,[::2],c/name', ['[::1]:5432', '[::2]', 'c'].map((host) => `postgres://u:p@${host}/name`)],
  ['postgres://u:a,b@c@d,e/name', ['postgres://u:a,b@c@d/name', 'postgres://u:a,b@c@e/name']],
])('%s names its servers in order', (url, servers) => {
  expect(databaseUrls(url)).toEqual(servers)
})

test.each([
  '',
  'postgres://',
  'postgres:///name',
  'postgres://u:p@/name',
  'postgres://u:p@a,/name',
  'postgres://u:p@,a/name',
  'postgres://u:p@a:5432,b:x/name',
  'postgres://u:p@a:99999,b/name',
  'postgres://u:p@[::1/name',
  'mysql://u:p@a/name',
  'https://a/',
])('%j is no address of a database', (url) => {
  expect(databaseUrls(url)).toBeNull()
})
