import { decodeHTML } from 'entities'

/**
 * Converts HTML to the text that a reader would see, with paragraphs and lines separated. It makes a single pass over
 * the characters, without regular expressions that could run long. Broken markup is read as far as it makes sense. The
 * package html-to-text was rejected: it brings six packages for features that feeds do not need (tables, link lists,
 * selectors).
 */
export function htmlToText(html: string): string {
  let text = ''
  let at = 0
  while (at < html.length) {
    const open = html.indexOf('<', at)
    if (open < 0) {
      text += decodeHTML(html.slice(at))
      break
    }
    text += decodeHTML(html.slice(at, open))
    const tag = readTag(html, open)
    if (tag === null) {
      text += '<'
      at = open + 1
      continue
    }
    at = tag.end
    if (!tag.closing && skipped.has(tag.name)) at = afterElement(html, tag.end, tag.name)
    if (tag.name === 'br') text += '\n'
    else if (tag.name === 'li' && !tag.closing) text += '\n- '
    else if (paragraphs.has(tag.name)) text += '\n\n'
    else if (lines.has(tag.name)) text += '\n'
    else if (cells.has(tag.name)) text += ' '
  }
  return tidy(text)
}

const skipped = new Set(['script', 'style', 'template', 'noscript', 'iframe', 'svg', 'math', 'object', 'head', 'title'])
const paragraphs = new Set('p h1 h2 h3 h4 h5 h6 blockquote pre table ul ol dl figure hr article section'.split(' '))
const lines = new Set('div tr dt dd figcaption header footer main aside nav address form'.split(' '))
const cells = new Set(['td', 'th', 'img', 'option', 'button'])

/** The tag that starts at `start`, or null if the `<` is just a character. A comment has an empty name. */
function readTag(html: string, start: number): { name: string; closing: boolean; end: number } | null {
  if (html.startsWith('<!--', start)) {
    const end = html.indexOf('-->', start + 4)
    return { name: '', closing: false, end: end < 0 ? html.length : end + 3 }
  }
  const closing = html[start + 1] === '/'
  let at = start + (closing ? 2 : 1)
  const first = html.charCodeAt(at)
  const isDeclaration = !closing && (html[at] === '!' || html[at] === '?')
  if (!isDeclaration && !isLetter(first)) return null
  const from = at
  while (at < html.length && isNameCharacter(html.charCodeAt(at))) at++
  const name = isDeclaration ? '' : html.slice(from, at).toLowerCase()
  // A `>` in quotes is part of an attribute.
  for (let quote = ''; at < html.length; at++) {
    const character = html[at]!
    if (quote !== '') {
      if (character === quote) quote = ''
    } else if (character === '"' || character === "'") quote = character
    else if (character === '>') return { name, closing, end: at + 1 }
  }
  // The tag is never closed. The rest cannot be recognised as text or markup, so it is dropped.
  return { name, closing, end: html.length }
}

const isLetter = (code: number): boolean => (code | 32) >= 97 && (code | 32) <= 122
const isNameCharacter = (code: number): boolean => isLetter(code) || (code >= 48 && code <= 58) || code === 45

function afterElement(html: string, from: number, name: string): number {
  for (let at = html.indexOf('</', from); at >= 0; at = html.indexOf('</', at + 2)) {
    if (html.slice(at + 2, at + 2 + name.length).toLowerCase() !== name) continue
    const end = html.indexOf('>', at)
    return end < 0 ? html.length : end + 1
  }
  return html.length
}

/** Collapses runs of spaces, trims lines, and keeps at most one empty line in a row. */
function tidy(text: string): string {
  return text
    .replaceAll('\r', '\n')
    .split('\n')
    .map((line) => line.replace(/[\t\f\v \u00a0]+/g, ' ').trim())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}
