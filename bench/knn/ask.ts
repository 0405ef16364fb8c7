/**
 * A process that asks a server again and again, ten milliseconds apart, and tells how long the answers took. The first
 * second is for both to get warm and does not count.
 */
const [address, key, seconds] = process.argv.slice(2) as [string, string, string]
const took: number[] = []
const from = performance.now() + 1000
const until = from + Number(seconds) * 1000
const paths = ['/v1/account', '/v1/documents/browse?limit=50', '/v1/changes?limit=50']
for (let i = 0; performance.now() < until; i++) {
  const started = performance.now()
  const answer = await fetch(new URL(paths[i % paths.length]!, address), {
    headers: { authorization: `Bearer ${key}` },
  })
  await answer.arrayBuffer()
  if (!answer.ok) throw new Error(`answered ${answer.status}`)
  if (started >= from) took.push(performance.now() - started)
  await new Promise((resolve) => setTimeout(resolve, 10))
}
took.sort((a, b) => a - b)
const at = (part: number) => took[Math.min(took.length - 1, Math.floor(took.length * part))]!
console.log(JSON.stringify({ requests: took.length, p50: at(0.5), p99: at(0.99), max: took.at(-1) }))
