/** The rules of a robots.txt (RFC 9309) for one agent. */
export interface Robots {
  readonly rules: readonly { readonly allow: boolean; readonly pattern: string }[]
  /** Not part of the RFC, but common and cheap to follow; null if absent. */
  readonly crawlDelaySeconds: number | null
}

export const everythingAllowed: Robots = { rules: [], crawlDelaySeconds: null }
export const nothingAllowed: Robots = { rules: [{ allow: false, pattern: '/' }], crawlDelaySeconds: null }

const rulesMax = 2000

/** The group that names the agent, else the group for all. Groups for the same agent are merged. */
export function parseRobots(text: string, agent: string): Robots {
  const groups: { agents: string[]; rules: { allow: boolean; pattern: string }[]; delay: number | null }[] = []
  let naming = false
  for (const line of text.split(/\r\n?|\n/)) {
    const [key = '', ...rest] = line.split('#', 1)[0]!.split(':')
    const value = rest.join(':').trim()
    const group = groups.at(-1)
    switch (key.trim().toLowerCase()) {
      case 'user-agent':
        if (naming) group!.agents.push(value.toLowerCase())
        else groups.push({ agents: [value.toLowerCase()], rules: [], delay: null })
        naming = true
        continue
      case 'allow':
      case 'disallow':
        if (group !== undefined && value !== '' && group.rules.length < rulesMax) {
          group.rules.push({ allow: key.trim().toLowerCase() === 'allow', pattern: value })
        }
        break
      case 'crawl-delay':
        if (group !== undefined && /^\d+(\.\d+)?$/.test(value)) group.delay = Number(value)
        break
      default:
        continue
    }
    naming = false
  }
  const own = groups.filter(({ agents }) => agents.includes(agent))
  const chosen = own.length > 0 ? own : groups.filter(({ agents }) => agents.includes('*'))
  return {
    rules: chosen.flatMap(({ rules }) => rules),
    crawlDelaySeconds: chosen.find(({ delay }) => delay !== null)?.delay ?? null,
  }
}

/** The longest matching pattern decides; of equally long ones, one that allows. */
export function isAllowed({ rules }: Robots, path: string): boolean {
  let best = -1
  let allowed = true
  for (const { allow, pattern } of rules) {
    if (pattern.length < best || !matches(pattern, path)) continue
    allowed = pattern.length === best ? allowed || allow : allow
    best = pattern.length
  }
  return allowed
}

/**
 * `*` matches any run of characters, `$` at the end matches the end. Each piece is searched once, so no pattern runs
 * long.
 */
function matches(pattern: string, path: string): boolean {
  const toEnd = pattern.endsWith('$')
  const pieces = (toEnd ? pattern.slice(0, -1) : pattern).split('*')
  if (!path.startsWith(pieces[0]!)) return false
  let at = pieces[0]!.length
  for (const [i, piece] of pieces.entries()) {
    if (i === 0) continue
    if (toEnd && i === pieces.length - 1) return path.length - piece.length >= at && path.endsWith(piece)
    const found = path.indexOf(piece, at)
    if (found < 0) return false
    at = found + piece.length
  }
  return !toEnd || at === path.length
}
