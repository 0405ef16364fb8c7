import type { Tool } from './tool.ts'
import { account } from './tools/account.ts'
import { readAnalysis, startAnalysis } from './tools/analysis.ts'
import { author } from './tools/author.ts'
import { browse } from './tools/browse.ts'
import { changes } from './tools/changes.ts'
import { counts } from './tools/counts.ts'
import { readDocument } from './tools/read-document.ts'
import { search } from './tools/search.ts'

/** Every tool, in the order in which agents see them. */
export const tools: readonly Tool[] = [
  search,
  readDocument,
  counts,
  browse,
  author,
  changes,
  account,
  startAnalysis,
  readAnalysis,
]
