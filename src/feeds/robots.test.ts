import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isAllowed, parseRobots } from './robots.ts'

const text = `
# a comment
User-agent: other
Disallow: /

User-agent: *
Disallow: /private
Allow: /private/open
Disallow: /*.xml$
Disallow: /q?*id=
Crawl-delay: 2.5

User-Agent: Tidemark-Feeds
User-agent: friend
Disallow: /no # really
Sitemap: https://example.org/s.xml
`

test('the group that names the agent applies, otherwise the group for all', () => {
  const own = parseRobots(text, 'tidemark-feeds')
  assert.ok(isAllowed(own, '/private'))
  assert.ok(!isAllowed(own, '/no/where'))
  assert.equal(own.crawlDelaySeconds, null)
  const rest = parseRobots(text, 'someone')
  assert.equal(rest.crawlDelaySeconds, 2.5)
  const expected: Record<string, boolean> = {
    '/': true,
    '/private': false,
    '/private/x': false,
    '/private/open/x': true,
    '/feed.xml': false,
    '/feed.xml?x': true,
    '/q?a=1&id=2': false,
    '/q?a=1': true,
  }
  for (const [path, allowed] of Object.entries(expected)) assert.equal(isAllowed(rest, path), allowed, path)
})

test('an empty file, an empty rule and no group at all allow everything', () => {
  for (const file of ['', 'Disallow: /', 'User-agent: *\nDisallow:', '\u0000<html>']) {
    assert.ok(isAllowed(parseRobots(file, 'x'), '/anything'))
  }
})

test('a pattern with many stars does not run long', () => {
  const robots = parseRobots(`User-agent: *\nDisallow: /${'*a'.repeat(2000)}b`, 'x')
  const started = performance.now()
  isAllowed(robots, `/${'a'.repeat(100_000)}`)
  assert.ok(performance.now() - started < 5000)
})
