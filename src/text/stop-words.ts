import { CASE_BIT, isDigit, isPlainLetter } from './char-class.ts'
import { foldAccents, normaliseWord } from './fold-word.ts'

/**
 * Function words only: articles, pronouns, prepositions, conjunctions, auxiliaries and question words. Published lists
 * also have words that people search for (numbers, verbs of saying, `system`), so these are our own and short. They are
 * written in the form of `normaliseWord`, because normalising all of them would slow the start of every thread.
 */
const WORDS: Readonly<Record<string, string>> = {
  ar: `في من على إلى عن مع هذا هذه ذلك تلك التي الذي الذين اللذان اللتان ما ماذا متى أين كيف كم هل لماذا أن إن كان كانت يكون
    تكون كانوا هو هي هم هن أنا نحن أنت قد لقد لا لم لن ليس ليست ثم أو أم بل لكن و ف ب ل ك كما بين بعد قبل عند عندما منذ حتى
    كل بعض أي أيضا غير سوى فيه فيها منه منها له لها لهم به بها بهم عليه عليها إليه إليها إذا لو حيث مما بما أما فقد وقد`,
  bg: `и в във на с със за от до по при към без през над под пред след между не ни ли да че ще е са съм си сме сте бъде беше
    бяха но или а ако като когато където как какво кой коя кое кои колко защо аз ти той тя то ние вие те му му им го я ги се
    това този тази тези онзи онази който която което които ми ти ѝ ни ви още вече само много така там тук`,
  ca: `el la els les un una uns unes de del dels a al als en amb per i o que no es se si és són era eren ha han havia ser
    va van com quan on qui què quin quina quins quines quant quants aquest aquesta aquests aquestes això jo tu ell ella
    nosaltres vosaltres ells elles em et ens us hi ho li seu seva seus seves més molt també però sobre entre fins des`,
  cs: `a i o u v ve z ze s se k ke na do od po pro při za pod nad před mezi bez že aby když kde kdo co jak kdy proč kolik který
    která které kteří je jsou byl byla bylo byli být jsem jsi jsme jste má mají není nebo ale ani já ty on ona ono my vy oni
    ten ta to ti ty tento tato toto jeho její jejich svůj si mu jí jim ho také jen už jako tak tam tu`,
  da: `og i på at en et den det de der som til af for med er var være har havde blev bliver fra om men ikke eller hvis når hvor
    hvad hvem hvilken hvilket hvilke hvordan hvorfor hvornår jeg du han hun vi dem ham hende mig dig os sig min din sin
    deres hans hendes dette disse også kan kunne skal skulle vil ville må efter ved under over mellem før mod ind ud op så`,
  de: `der die das den dem des ein eine einen einem einer eines und oder aber denn sondern in im an am auf aus bei beim mit nach
    von vom zu zum zur über unter vor für durch gegen ohne um bis seit während zwischen wegen ist sind war waren wird werden
    wurde wurden worden sein bin bist hat haben hatte hatten kann können konnte konnten muss müssen soll sollen sollte will
    ich du er sie es wir ihr mich dich sich uns euch ihm ihn ihnen mein dein seine seinen seinem seiner ihre ihren ihrem ihrer
    dieser diese dieses diesem diesen jener jene was wer wen wem wessen wie wo wann warum welche welcher welches welchem
    welchen wieviel viele viel dass ob wenn als auch nicht kein keine keinen nur noch schon so sehr da dort hier es man`,
  el: `ο η το οι τα του της των τον την τους τις ένας μια ένα και ή αλλά σε στο στη στην στον στα στις στους στων από με για ως
    προς κατά μετά πριν χωρίς είναι ήταν είχε έχει έχουν θα να δεν μη μην που πως πώς πού πότε τι ποιος ποια ποιο ποιοι ποιες
    πόσο πόσοι πόσα πόσες γιατί όταν αν ότι αυτό αυτή αυτός αυτά αυτές αυτοί εγώ εσύ εμείς εσείς μου σου μας σας όπως επίσης`,
  en: `a an the and or but nor if of in on at by to from with without for about against between into through during before
    after above below over under within upon among across as than so such is are was were be been being am has have had
    having do does did doing done can could will would shall should may might must not no it its he him his she her hers they
    them their theirs we our ours you your yours i me my mine this that these those there here which who whom whose what
    when where why how how much many also only very both each other some any all`,
  es: `el la los las lo un una unos unas de del a al en con por para sin sobre entre hasta desde hacia según durante y e o u ni que
    no si sí se es son era eran fue fueron ser sido está están estaba ha han había haber hay como cuando donde quien quienes
    cual cuales cuanto cuanta cuantos cuantas qué cómo cuándo dónde quién quiénes cuál cuáles cuánto cuánta cuántos cuántas
    porque pero más muy también este esta estos estas ese esa esos esas esto eso aquel aquella yo tú él ella ello nosotros
    ellos ellas me te le les nos su sus mi mis tu tus ya`,
  fa: `و در به از که این آن را با برای تا بر است بود شد شود می هم یا اما اگر هر چه چرا چگونه کجا کی چند کدام کسی ما من تو او شما
    آنها ایشان نیز باید های ها یک نه بین پس پیش روی زیر بعد قبل خود شده کرده دارد دارند بودند هستند نیست`,
  fi: `ja tai mutta että jos kun kuin niin ei ole on oli olivat ovat olla ollut se ne hän he me te minä sinä tämä nämä tuo nuo
    joka jotka mitä mikä mitkä missä mistä mihin milloin miksi miten kuka ketkä kenen kuinka monta paljon myös vain sekä
    sen sitä siitä sille hänen heidän jonka joita josta jossa kanssa ilman ennen jälkeen välillä alla yli en et emme ette eivät`,
  fr: `le la les l un une des du de d à au aux en dans par pour avec sans sous sur entre vers chez depuis pendant et ou mais ni car
    donc que qu qui quoi dont où ne n pas plus est sont était étaient été être es suis sommes a ont avait avaient eu avoir ai as
    ce cet cette ces c se s y il elle ils elles on nous vous je j tu me m te t lui leur leurs son sa ses mon ma mes ton ta tes
    notre nos votre vos quel quelle quels quelles quand comment pourquoi combien si comme aussi très`,
  he: `של את על אל עם לא כי או גם אם אך אבל רק כל זה זו זאת אלה הוא היא הם הן אני אתה את אנחנו אתם היה היתה הייתה היו יהיה להיות
    יש אין מה מי איך איפה מתי למה מדוע כמה איזה איזו אילו אשר בין לפני אחרי תחת מן כמו כאשר עד לו לה להם שלו שלה שלהם`,
  hi: `का के की को में से पर है हैं था थे थी और या लेकिन कि यह ये वह वे इस उस इन उन जो जिस जिन ने भी ही तो तक लिए साथ एक हो होता होती
    होते किया गया गई गए कर करने करता क्या कौन कब कहाँ कैसे क्यों कितने कितनी कितना किस किसने कोई नहीं अपने अपनी मैं हम आप`,
  hu: `a az egy és vagy de hogy nem is ha mint meg el ki be fel le van volt voltak lesz lenne ez ezt azt ezek azok aki ami amely
    akik amelyek mi mit ki kit hol mikor miért hogyan mennyi hány melyik én te ő mi ti ők neki nekik csak már még után előtt
    alatt között által szerint során miatt nélkül ennek annak ebben abban erre arra ezen azon`,
  id: `yang dan di ke dari pada untuk dengan oleh dalam ini itu adalah ialah atau tetapi tidak bukan ada akan telah sudah sedang
    bisa dapat harus juga saja sebagai karena jika kalau ketika saat bahwa apa siapa kapan mana dimana bagaimana mengapa
    berapa saya aku kamu anda dia ia kami kita mereka nya para antara setelah sebelum tentang seperti hanya lebih sangat`,
  it: `il lo la i gli le l un uno una di del dello della dei degli delle a al allo alla ai agli alle da dal dalla dai dalle in nel
    nella nei nelle con su sul sulla sui sulle per tra fra e ed o ma se che chi cui non è sono era erano essere stato stata ha
    hanno aveva avere ho come quando dove quale quali quanto quanta quanti quante perché cosa più anche questo questa questi
    queste quello quella quelli quelle io tu lui lei noi voi loro si mi ti ci vi ne suo sua suoi sue mio mia`,
  lt: `ir ar bet kad kai jei o į iš su be po per prie nuo iki už apie tarp dėl yra buvo būti bus nėra ne tai tas ta tie tos šis
    ši šie šios jis ji jie jos aš tu mes jūs jo jų kas ką kur kada kodėl kaip kiek kuris kuri kurie kurios savo taip pat`,
  nl: `de het een en of maar want in op aan van voor met door bij naar uit over onder tot tegen tussen zonder na om te is zijn was
    waren wordt worden werd werden ben heeft hebben had hadden kan kunnen kon moet moeten zal zullen zou zouden ik jij je hij
    zij ze wij we jullie u hem haar hen hun mij mijn jouw ons onze dit dat deze die wat wie waar wanneer waarom hoe hoeveel
    welke welk er ook niet geen als dan nog al zo zeer`,
  no: `og i på at en et ei den det de der som til av for med er var være har hadde ble blir fra om men ikke eller hvis når hvor
    hva hvem hvilken hvilket hvilke hvordan hvorfor jeg du han hun vi dem ham henne meg deg oss seg min din sin deres hans
    hennes dette disse også kan kunne skal skulle vil ville må etter ved under over mellom før mot inn ut opp så`,
  pl: `i oraz a lub albo ale w we z ze na do od po przy za pod nad przed między bez dla o u że żeby gdy kiedy gdzie kto co jak
    dlaczego ile który która które którzy jest są był była było byli być nie się to ten ta te ci tych tego tej tym ja ty on
    ona ono my wy oni jego jej ich mu im go swój jako tak także też tylko już`,
  pt: `o a os as um uma uns umas de do da dos das em no na nos nas por pelo pela pelos pelas para com sem sob sobre entre até desde
    e ou mas nem que se não é são era eram foi foram ser sido está estão estava há tem têm tinha ter como quando onde quem qual
    quais quanto quanta quantos quantas porque porquê mais muito também este esta estes estas esse essa esses essas isto isso
    aquele aquela eu tu ele ela nós vós eles elas me te lhe lhes seu sua seus suas meu minha ao aos à às já`,
  ro: `și sau dar iar ci în din de la pe cu fără pentru prin până spre sub între după înainte despre un o unei unui niște al a ai
    ale lui că să se nu este e sunt era erau fost fi am ai are au avea aveau va vor ce cine care cui când unde cum câți câte
    cât câtă acest această acești aceste acel acea acei acele eu tu el ea noi voi ei ele îl îi le lor său sa săi sale mai foarte`,
  ru: `и в во на с со за из от до по при к ко у о об про без для под над перед через между не ни но а или да же ли бы что чтобы
    как так когда где куда откуда кто кого кому чем чего чему какой какая какое какие каких сколько почему зачем который
    которая которое которые которых это этот эта эти этого этой тот та те того той он она оно они его её ее ему ей их им я
    ты мы вы мне тебе нас вас меня был была было были быть есть является если то также тоже только уже ещё еще`,
  sr: `и у на се је су да за од са из до по при без или али ни не ли што шта ко како када где зашто колико који која које којих
    то тај та те ти овај ова ово он она оно они ми ви ја био била било били бити јер ако као његов њен њихов i u na se je su
    da za od sa iz do po pri bez ili ali ni ne li što šta ko kako kada gde gdje zašto koliko koji koja koje kojih to taj ta te
    ovaj ova ovo on ona ono oni mi vi ja bio bila bilo bili biti jer ako kao njegov njen njihov`,
  sv: `och i på att en ett den det de som till av för med är var vara har hade blev blir från om men inte eller när var vad vem
    vilken vilket vilka hur varför jag du han hon vi ni dem honom henne mig dig oss sig min din sin deras hans hennes detta
    dessa denna också kan kunde ska skulle vill ville måste efter vid under över mellan före mot in ut upp så där här`,
  tr: `ve veya ya da de ile için gibi kadar göre bir bu şu o ne nasıl neden niçin niye nerede nereye nereden kim kimin hangi kaç
    ben sen biz siz onlar onun onların bunun ki mi mı mu mü değil var yok olan olarak oldu olduğu olduğunu idi ise ama fakat
    çok daha en her hem sonra önce arasında tarafından üzerinde`,
  uk: `і й та в у на з із зі за від до по при к без для під над перед через між не ні але а або чи же би що щоб як так коли де куди
    хто кого кому чого чому який яка яке які яких скільки це цей ця ці цього цієї той та те ті того він вона воно вони його її
    йому їй їх їм я ти ми ви був була було були бути є якщо то також теж тільки вже ще`,
  vi: `và hoặc nhưng của là có không được bị cho với từ đến trong ngoài trên dưới ở tại về theo do bởi vì nên nếu khi thì mà rằng
    các những một này đó kia ấy tôi bạn anh chị ông bà nó họ chúng ta gì ai nào đâu bao nhiêu sao thế cũng đã đang sẽ rất`,
}

export const STOP_WORDS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(WORDS).map(([language, words]) => [language, words.split(/\s+/u)]),
)

/** Each language has the number of its position here. */
export const STOP_WORD_LANGUAGES: readonly string[] = [...STOP_WORDS.keys()]

const LANGUAGES_BY_WORD = new Map<string, number[]>()
for (const [number, language] of STOP_WORD_LANGUAGES.entries()) {
  for (const word of new Set(STOP_WORDS.get(language))) {
    const languages = LANGUAGES_BY_WORD.get(word)
    if (languages === undefined) LANGUAGES_BY_WORD.set(word, [number])
    else languages.push(number)
  }
}

/**
 * A hash table of the words of plain letters only: each is in the slot of its hash, or in the next free one (linear
 * probing). 0 marks a free slot.
 */
const PLAIN_WORDS: readonly string[] = [...LANGUAGES_BY_WORD.keys()].filter((word) => /^[a-z]+$/u.test(word))
const PLAIN_LANGUAGES = PLAIN_WORDS.map((word) => LANGUAGES_BY_WORD.get(word)!)
const SLOT_BITS = 14
const SLOTS = new Uint16Array(1 << SLOT_BITS)
for (const [i, word] of PLAIN_WORDS.entries()) {
  let slot = slotOf(plainHash(word, 0, word.length))
  while (SLOTS[slot] !== 0) slot = nextSlot(slot)
  SLOTS[slot] = i + 1
}

/** Ignores case. Returns -1 if there are other characters than the letters and digits of ASCII. */
function plainHash(text: string, start: number, end: number): number {
  let hash = 0
  for (let i = start; i < end; i++) {
    const code = text.charCodeAt(i)
    if (!isPlainLetter(code) && !isDigit(code)) return -1
    hash = Math.imul(hash ^ (code | CASE_BIT), 0x9e3779b1)
  }
  return hash >>> 1
}

function slotOf(hash: number): number {
  return hash >>> (31 - SLOT_BITS)
}

function nextSlot(slot: number): number {
  return (slot + 1) & (SLOTS.length - 1)
}

function matchesAt(word: string, text: string, start: number): boolean {
  for (let i = 0; i < word.length; i++) {
    if (word.charCodeAt(i) !== (text.charCodeAt(start + i) | CASE_BIT)) return false
  }
  return true
}

const NO_LANGUAGES: readonly number[] = []

/**
 * Returns the numbers of the languages that have the word. Accents count here: folded, Vietnamese `thế` would be
 * English `the`.
 */
export function languagesWithStopWord(normalised: string): readonly number[] {
  return LANGUAGES_BY_WORD.get(normalised) ?? NO_LANGUAGES
}

/**
 * Does the same for a word in a text. A word of ASCII letters is not copied, because copying would dominate the cost.
 */
export function languagesWithStopWordAt(text: string, start: number, end: number): readonly number[] {
  const hash = plainHash(text, start, end)
  if (hash < 0) return languagesWithStopWord(normaliseWord(text.slice(start, end)))
  for (let slot = slotOf(hash); SLOTS[slot] !== 0; slot = nextSlot(slot)) {
    const i = SLOTS[slot]! - 1
    const word = PLAIN_WORDS[i]!
    if (word.length === end - start && matchesAt(word, text, start)) return PLAIN_LANGUAGES[i]!
  }
  return NO_LANGUAGES
}

/**
 * Folded words, so that a stop word is recognised with and without its accents. Made for each language on first use.
 */
const FOLDED = new Map<string, ReadonlySet<string>>()

/** `folded` is a word after `normaliseWord` and `foldAccents`, not stemmed. */
export function isStopWord(folded: string, language: string): boolean {
  const listed = STOP_WORDS.get(language)
  if (listed === undefined) return false
  let words = FOLDED.get(language)
  if (words === undefined) {
    words = new Set(listed.map(foldAccents))
    FOLDED.set(language, words)
  }
  return words.has(folded)
}

/**
 * Function words of scripts without blanks, of at least two characters, as the dictionary splits them. Search has no
 * words in these scripts.
 */
const DICTIONARY_WORDS = {
  ja: `する した して いる いた ある あった ない なる なった れる られる こと もの ため よう それ これ その この そして しかし また
    から まで など として による により について において では には とは です ます という`,
  th: `ที่ และ ใน ของ เป็น มี ได้ ให้ ไม่ ว่า จะ กับ โดย จาก นี้ นั้น ไป มา การ ความ แต่ หรือ คือ อยู่ ก็ ถึง แล้ว เพื่อ ซึ่ง ตาม`,
  zh: `一个 一些 一种 这个 那个 这些 那些 他们 她们 它们 我们 你们 自己 他的 她的 它的 以及 以后 以前 之后 之前 之间 其中 其他 因为
    所以 但是 如果 由于 因此 或者 并且 而且 可以 可能 能够 没有 不是 就是 还有 已经 通过 包括 许多 例如 称为 成为 进行 主要 作为
    使用 非常 这样 什么 如何 虽然 同时 只有 根据 关于 对于`,
} as const

export type DictionaryLanguage = keyof typeof DICTIONARY_WORDS

const DICTIONARY_SETS = new Map(
  Object.entries(DICTIONARY_WORDS).map(([language, words]) => [language, new Set(words.split(/\s+/u))]),
)

export const isDictionaryStopWord = (word: string, language: DictionaryLanguage): boolean =>
  DICTIONARY_SETS.get(language)!.has(word)
