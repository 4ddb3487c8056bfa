import { z } from 'zod';
import type { CheckedLogin, SignInStep } from '../../declare/accounts.ts';

/** The sign-in steps of an app, in the order of its extensions. */
export interface SignInSteps {
  /** The schema of the responses that ask for a step; undefined if there are no steps. */
  output: z.ZodType | undefined;
  /** The schema of the responses that ask a new user for a step; undefined if no step applies to new users. */
  registrationOutput: z.ZodType | undefined;
  /** Returns the response of the first step that needs something; undefined if the session can start. */
  askNext(login: Omit<CheckedLogin, 'passwordProof'>, proof: string): Promise<object | undefined>;
}

/** Separates the proof of a credential from the state of the login. */
const SEPARATOR = '~';
const STATE = /^(\d+)(m?)$/;

/** The proof of a login, and what the login has passed so far. */
interface LoginProof {
  /** The proof of the credential. */
  credential: string;
  passedSteps: number;
  /** Whether the login has passed two factors, so that no further step asks for one. */
  multiFactor: boolean;
}

/** Splits the proof of a login that waited for a step. */
export function splitProof(proof: string): LoginProof {
  const [credential = '', state = ''] = proof.split(SEPARATOR);
  const [, passedSteps = '0', multiFactor = ''] = STATE.exec(state) ?? [];
  return { credential, passedSteps: Number(passedSteps), multiFactor: multiFactor !== '' };
}

function combineOutputs(outputs: readonly z.ZodType[]): z.ZodType | undefined {
  return outputs.length > 1 ? z.xor(outputs) : outputs[0];
}

/**
 * Combines the sign-in steps of extensions. A login that is interrupted by a step continues with the next one: otherwise a step could be
 * used to skip the steps after it.
 */
export function combineSignInSteps(steps: readonly SignInStep[]): SignInSteps {
  return {
    output: combineOutputs(steps.map(({ output }) => output)),
    registrationOutput: combineOutputs(steps.flatMap(({ registrationOutput }) => registrationOutput ?? [])),
    async askNext(login, proof) {
      for (const [index, step] of steps.entries()) {
        if (index < login.passedSteps || (login.isRegistration && step.registrationOutput === undefined)) continue;
        const passedSteps = index + 1;
        const passwordProof = `${proof}${SEPARATOR}${passedSteps}${login.multiFactor ? 'm' : ''}`;
        const response = await step.ask({ ...login, passedSteps, passwordProof });
        if (response !== undefined) return response;
      }
      return undefined;
    },
  };
}
