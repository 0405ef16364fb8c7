import { type Content, el } from './dom.ts'

/** Texts with more characters are not coloured, because colouring creates a node for every token. */
const colouredMax = 200_000
const tokens = /("(?:\\.|[^"\\])*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** Returns JSON text as coloured nodes. */
export function jsonNodes(text: string): readonly Content[] {
  if (text.length > colouredMax) return [text]
  const nodes: Content[] = []
  let at = 0
  for (const match of text.matchAll(tokens)) {
    if (match.index > at) nodes.push(text.slice(at, match.index))
    const [whole, string, colon] = match
    if (string !== undefined) nodes.push(el('span', { class: colon ? 'j-name' : 'j-text' }, string), colon ?? '')
    else nodes.push(el('span', { class: /^[tfn]/.test(whole) ? 'j-word' : 'j-number' }, whole))
    at = match.index + whole.length
  }
  nodes.push(text.slice(at))
  return nodes
}
