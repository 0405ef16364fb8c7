import { h, render } from 'preact'
import { watchAccount } from './account.ts'
import { watchHealth } from './health.ts'
import { followLinks } from './router.ts'
import { Shell } from './shell.ts'
import { viewAt } from './views.ts'

const root = document.getElementById('app')!
root.replaceChildren()
followLinks((path) => viewAt(path) !== null)
watchAccount()
watchHealth()
render(h(Shell, {}), root)
