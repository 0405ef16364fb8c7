/** Documents as collectors send them: about 1 kB of text, an author, topics, tags, metrics and a fact. */
export const vocabulary = (
  'storm harvest engine violin treaty planet court season vaccine bridge election mountain market river theory ' +
  'protein coast report officials said after new year people city council under because while during between ' +
  'harbour water early morning trial number player goal light price energy field school hospital train weather'
).split(' ')

const bodiesKept = 512
const bodyCharacters = 1000

/** The same texts in every run. */
const bodies = Array.from({ length: bodiesKept }, (_, i) => {
  let state = i + 1
  let text = ''
  while (text.length < bodyCharacters) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    text += `${vocabulary[(state >>> 8) % vocabulary.length]} `
  }
  return text.trimEnd()
})

const languages = ['en', 'en', 'en', 'de', 'fr', 'es', 'ja']
const platforms = ['rss', 'web', 'forum', 'video']
const dayMs = 86_400_000
const startMs = Date.UTC(2026, 0)

/** Returns the document of this number as a line of JSON. Each number is a different document. */
export function documentLine(number: number): string {
  const author = (number * 7919) % 50_000
  const published = new Date(startMs + ((number * 104_729) % 300) * dayMs + (number % 86_400) * 1000).toISOString()
  return (
    `{"dataset_id":"bench","source_platform":"${platforms[number % 4]}","external_id":"item-${number}",` +
    `"url":"https://example.com/articles/${number}","content_type":"article","language":"${languages[number % 7]}",` +
    `"region":"GB","published_at":"${published}","title":"Title ${number} about the ${vocabulary[number % vocabulary.length]}",` +
    `"body":"${number} ${bodies[number % bodiesKept]}",` +
    `"author":{"external_author_id":"u${author}","nickname":"Author ${author}","follower_count":${author * 3},"verified":false},` +
    `"topics":["topic-${number % 40}","topic-${(number * 31) % 400}"],"tags":["tag-${number % 97}","tag-${(number * 17) % 5000}","tag-x"],` +
    `"score":${(number * 13) % 1000},"metrics":{"likes":${number % 500},"shares":${number % 37},"views":${number % 9973}},"quality":0.5,` +
    `"facts":[{"kind":"category","metadata":{"label_code":"code-${number % 25}"}}]}`
  )
}
