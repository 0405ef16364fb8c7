import { callApi } from '../app/call-api.ts'

/** The author and time of the last change. */
export interface Author {
  readonly name: string
  readonly at: string
}

interface Line {
  readonly at: string
  readonly actor: string
  readonly target: string
}

const linesRead = 100

/** Returns the author of the last change, from the first page of the audit log; null if the change is older. */
export async function lastAuthor(target: string): Promise<Author | null> {
  const query = { limit: linesRead }
  const { audit } = await callApi<{ audit: readonly Line[] }>('GET', '/admin/v1/audit', { as: 'admin', query })
  const line = audit.find((one) => one.target === target)
  return line === undefined ? null : { name: actorInWords(line.actor), at: line.at }
}

const others: Readonly<Record<string, string>> = {
  'admin-api': 'Someone with the instance token',
  'command-line': 'Someone on the command line',
}

/** The log names a token by its ID and, in quotation marks, by its name. */
function actorInWords(actor: string): string {
  const quoted = /^\S+ (".*")$/s.exec(actor)?.[1]
  return quoted === undefined ? (others[actor] ?? actor) : (JSON.parse(quoted) as string)
}
