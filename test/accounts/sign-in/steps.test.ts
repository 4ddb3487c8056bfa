import { expect, test } from 'vitest';
import { z } from 'zod';
import { combineSignInSteps, splitProof } from '../../../src/accounts/sign-in/steps.ts';
import type { CheckedLogin, SignInStep } from '../../../src/declare/accounts.ts';

const login = { passedSteps: 0, isRegistration: false } as Omit<CheckedLogin, 'passwordProof'>;

/** Returns a step that always asks, and records the logins that reach it. */
function createStep(name: string, seen: CheckedLogin[], atRegistration = false): SignInStep {
  return {
    output: z.object({ [name]: z.literal(true) }),
    ...(atRegistration && { registrationOutput: z.object({ [name]: z.literal(true) }) }),
    async ask(given) {
      seen.push(given);
      return { [name]: true };
    },
  };
}

test('a login that is resumed continues with the next step, and starts the session after the last one', async () => {
  const seen: CheckedLogin[] = [];
  const steps = combineSignInSteps([createStep('one', seen), createStep('two', seen), createStep('three', seen)]);
  const answers: unknown[] = [];
  let proof = 'proof';
  for (let passedSteps = 0; passedSteps < 4; ) {
    const answer = await steps.askNext({ ...login, passedSteps }, 'proof');
    answers.push(answer);
    if (answer === undefined) break;
    proof = seen.at(-1)!.passwordProof;
    expect(splitProof(proof).credential).toBe('proof');
    passedSteps = splitProof(proof).passedSteps;
  }
  expect(answers).toEqual([{ one: true }, { two: true }, { three: true }, undefined]);
});

test('a proof that an earlier version stored has passed no step', () => {
  expect(splitProof('ab12')).toEqual({ credential: 'ab12', passedSteps: 0, multiFactor: false });
});

test('only steps with a registration output apply to new users', async () => {
  const seen: CheckedLogin[] = [];
  const steps = combineSignInSteps([createStep('factor', seen), createStep('address', seen, true)]);
  expect(await steps.askNext({ ...login, isRegistration: true }, 'proof')).toEqual({ address: true });
  expect(seen).toHaveLength(1);
  expect(combineSignInSteps([createStep('factor', seen)]).registrationOutput).toBeUndefined();
});

test('the proof of a login remembers that it has passed two factors', async () => {
  const seen: CheckedLogin[] = [];
  const steps = combineSignInSteps([createStep('address', seen)]);
  await steps.askNext({ ...login, multiFactor: true }, 'proof');
  expect(splitProof(seen[0]!.passwordProof)).toEqual({ credential: 'proof', passedSteps: 1, multiFactor: true });
});
