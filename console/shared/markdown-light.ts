import { type Content, el } from './dom.ts'

/**
 * Renders paragraphs, lists with `-`, `code`, **bold** and [links](…), which is all that descriptions use. Creates
 * nodes and no markup.
 */
export function markdown(text: string | undefined): readonly HTMLElement[] {
  return (text ?? '')
    .trim()
    .split(/\n\s*\n/)
    .filter((block) => block !== '')
    .map((block) => {
      const lines = block.split('\n').map((line) => line.trim())
      if (lines.every((line) => /^[-*] /.test(line))) {
        return el(
          'ul',
          {},
          lines.map((line) => el('li', {}, inline(line.slice(2)))),
        )
      }
      return el('p', {}, inline(lines.join(' ')))
    })
}

const marks = /`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(([^)\s]+)\)/g

export function inline(text = ''): readonly Content[] {
  const nodes: Content[] = []
  let at = 0
  for (const match of text.matchAll(marks)) {
    if (match.index > at) nodes.push(text.slice(at, match.index))
    const [whole, code, bold, label, href] = match
    if (code !== undefined) nodes.push(el('code', {}, code))
    else if (bold !== undefined) nodes.push(el('strong', {}, bold))
    else nodes.push(safeLink(label!, href!))
    at = match.index + whole.length
  }
  nodes.push(text.slice(at))
  return nodes
}

/** A description may link to the web or within this host. Any other scheme stays plain text. */
function safeLink(label: string, href: string): Content {
  return /^(https?:\/\/|\/(?!\/)|#)/.test(href) ? el('a', { href, rel: 'noreferrer' }, label) : label
}
