import { createContext, useContext } from 'react'
import type { Problem } from './section'

export interface FormState {
  /** What the controller said is wrong. */
  problem: Problem | undefined
  isDisabled: boolean
  tenant: string
}

const context = createContext<FormState>({ problem: undefined, isDisabled: false, tenant: '' })

export const Form = context.Provider
export const useForm = () => useContext(context)
