import { globSync, readFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'

/**
 * Checks the comments of the source in two ways.
 *
 * 1. A name in backticks exists: each of its words stands in the code or in a string of the repository, and a file that
 *    it names is there. A command such as `npm run bench -- NAME` is checked word by word; words in
 *    capitals without an underscore are placeholders.
 * 2. No sentence begins with "Of", "What" or "Whoever".
 *
 * `check-comments.ts [FOLDER]` checks another tree than this one. Comments are found line by line, without a parser,
 * because the formatter starts every comment on a line of its own or at the end of one.
 */
const root = resolve(process.argv[2] ?? join(import.meta.dirname, '..'))

/** Each name that the repository does not have, and why a comment may still use it. */
const foreignNames: Readonly<Record<string, string>> = {
  '"a_phrase"': 'an example of a query',
  'index.soft_deletes.retention_lease.period': 'a setting of OpenSearch that we do not set',
  dler: 'a part of a word, as an example of text analysis',
  nmt_nfkc: 'the name of a rule set of SentencePiece',
  search_index: 'an example of the name of a check',
  'tidemark-VERSION.tgz': 'the file name of a package',
  usa: 'an example of a word in text analysis',
}

const commented = globSync('{src,console,bench,scripts,test}/**/*.ts', { cwd: root }).sort()
const others = globSync(['*.json', '{bin,console,deploy,src}/**/*.{js,css,html,wat,yaml,yml,tpl,service}'], {
  cwd: root,
})
const fileNames = new Set([...commented, ...globSync(['*.md', '{docs,src}/**/*.{md,wat}'], { cwd: root })].map(baseOf))

interface Comment {
  readonly line: number
  readonly text: string
}

const words = new Set<string>()
const comments = new Map<string, Comment[]>()
for (const file of commented) {
  const { code, found } = separate(readFileSync(join(root, file), 'utf8'))
  comments.set(file, found)
  // The exceptions above are strings of this script, which do not make a name exist.
  if (file !== 'scripts/check-comments.ts') addWords(code)
}
for (const file of others) addWords(readFileSync(join(root, file), 'utf8'))
// The words of a file's name, for a comment that names a folder or a script of package.json.
for (const name of fileNames) addWords(name)

const faults: string[] = []
let names = 0
for (const [file, found] of comments) {
  for (const { line, text } of found) {
    for (const [, name] of text.matchAll(/`([^`]+)`/g)) {
      names++
      const missing = missingPart(name!)
      if (missing !== null) {
        faults.push(`${file}:${line} names \`${name}\`, but this repository has no ${missing}`)
      }
    }
    const opening = /(?:^|[.?!:]\s+|\n\s*\n\s*|(?:^|\n)\s*(?:-|\d+\.)\s+)(Of|What|Whoever)\b/.exec(text)
    if (opening !== null) {
      faults.push(`${file}:${line} has a sentence that begins with "${opening[1]}": begin with its subject`)
    }
  }
}
if (names === 0) faults.push('no comment has a name in backticks: the check itself is broken')

for (const fault of faults) console.error(fault)
console.log(`${commented.length} files, ${names} names in comments, ${faults.length} faults`)
process.exit(faults.length === 0 ? 0 : 1)

function baseOf(path: string): string {
  return basename(path)
}

/** The part of a name that is nowhere in the repository; null if all of it is there. */
function missingPart(name: string): string | null {
  if (Object.hasOwn(foreignNames, name)) return null
  for (const [file] of name.matchAll(/[\w-][\w.-]*\.(?:ts|md|wat)\b/g)) {
    if (!fileNames.has(file)) return `file ${file}`
  }
  for (const [word] of name.matchAll(/[A-Za-z_$][\w$]*/g)) {
    if (!/^[A-Z]+$/.test(word) && !words.has(word)) return `word "${word}"`
  }
  return null
}

function addWords(code: string): void {
  for (const [word] of code.matchAll(/[A-Za-z_$][\w$]*/g)) words.add(word)
}

/** The code of a file, and its comments. Lines of `//` that follow each other are one comment. */
function separate(text: string): { code: string; found: Comment[] } {
  const code: string[] = []
  const found: { line: number; text: string }[] = []
  let inBlock = false
  let lastLine = -2
  for (const [i, line] of text.split('\n').entries()) {
    const trimmed = line.trim()
    if (inBlock) {
      found.at(-1)!.text += `\n${trimmed.replace(/\*\/.*$/, '').replace(/^\* ?/, '')}`
      inBlock = !trimmed.includes('*/')
    } else if (trimmed.startsWith('/*')) {
      found.push({ line: i + 1, text: trimmed.replace(/^\/\*+\s*/, '').replace(/\s*\*\/.*$/, '') })
      inBlock = !trimmed.includes('*/')
    } else if (trimmed.startsWith('//')) {
      const words = trimmed.slice(2).trim()
      if (lastLine === i - 1) found.at(-1)!.text += `\n${words}`
      else found.push({ line: i + 1, text: words })
      lastLine = i
    } else {
      const [, before, after] = /^(.*\S)\s+\/\/ (.*)$/.exec(line) ?? [null, line, null]
      code.push(before!)
      if (after !== null) found.push({ line: i + 1, text: after! })
    }
  }
  return { code: code.join('\n'), found: found.map(({ line, text }) => ({ line, text: text.trimStart() })) }
}
