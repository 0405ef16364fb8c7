import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { useEffect } from 'preact/hooks'
import { inWords } from '../app/call-api.ts'
import { go } from '../app/router.ts'
import { signInByCode } from './check-credential.ts'
import { firstView } from './first-view.ts'
import { SignIn } from './sign-in.ts'

/** Signs in with a form, or with the one-time code after the # of its address. */
export function SignInView(): ComponentChild {
  const fault = useSignal<string | null>(null)
  const isBusy = useSignal(location.hash.length > 1)
  const enter = (): void => go(firstView(), { replace: true })
  const redeem = (): void => {
    const code = location.hash.slice(1)
    if (code === '') return
    // The code works only once, but people copy addresses, so it is removed from this one.
    history.replaceState(null, '', '/sign-in')
    isBusy.value = true
    signInByCode(code)
      .then(enter, (error) => {
        fault.value = inWords(error)
      })
      .finally(() => {
        isBusy.value = false
      })
  }
  useEffect(() => {
    redeem()
    addEventListener('hashchange', redeem)
    return () => removeEventListener('hashchange', redeem)
  }, [])
  if (isBusy.value) return h('p', { class: 'empty', role: 'status' }, 'Signing in …')
  return h(
    'div',
    { class: 'narrow' },
    fault.value === null ? null : h('p', { class: 'notice warn', role: 'alert' }, fault.value),
    h(SignIn, { needs: null, done: enter }),
  )
}
