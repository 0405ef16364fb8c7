/** Function words that a dictionary finds in scripts without blanks, of two characters and more. Search has no words there. */
const WORDS = {
  ja: `する した して いる いた ある あった ない なる なった れる られる こと もの ため よう それ これ その この そして しかし また
    から まで など として による により について において では には とは です ます という`,
  th: `ที่ และ ใน ของ เป็น มี ได้ ให้ ไม่ ว่า จะ กับ โดย จาก นี้ นั้น ไป มา การ ความ แต่ หรือ คือ อยู่ ก็ ถึง แล้ว เพื่อ ซึ่ง ตาม`,
  zh: `一个 一些 一种 这个 那个 这些 那些 他们 她们 它们 我们 你们 自己 他的 她的 它的 以及 以后 以前 之后 之前 之间 其中 其他 因为
    所以 但是 如果 由于 因此 或者 并且 而且 可以 可能 能够 没有 不是 就是 还有 已经 通过 包括 许多 例如 称为 成为 进行 主要 作为
    使用 非常 这样 什么 如何 虽然 同时 只有 根据 关于 对于`,
} as const

export type DictionaryLanguage = keyof typeof WORDS

const SETS = new Map(Object.entries(WORDS).map(([language, words]) => [language, new Set(words.split(/\s+/u))]))

export const isDictionaryStopWord = (word: string, language: DictionaryLanguage): boolean =>
  SETS.get(language)!.has(word)
