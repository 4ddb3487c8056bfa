import { Facts, Section } from '../kit/parts.tsx';
import { needsSignIn, type Operation } from './operations.ts';
import { policyInWords, rateText } from './policy.ts';
import type { Reference } from './reference.ts';

const SCHEME_LABELS = new Map([
  ['session', 'a session'],
  ['apiKey', 'an API key'],
]);

/** The action of a resource that an operation performs, for the meaning of `owner`. */
const actionOf = ({ id }: Operation) => /^(create|list)(?=[A-Z])/.exec(id)?.[1];

function signInText({ raw }: Operation): string {
  const schemes = new Set((raw.security ?? []).flatMap(Object.keys));
  if (schemes.size === 0) return 'not needed';
  return [...schemes].map((name) => SCHEME_LABELS.get(name) ?? name).join(' or ');
}

function limitText({ raw }: Operation, { site: { totalLimit } }: Reference): string | undefined {
  const own = raw['x-rate-limit'];
  if (own !== undefined) return rateText(own);
  if (totalLimit === null) return 'none';
  return totalLimit && `${rateText(totalLimit)}, all routes together`;
}

/** Which scope an API key needs; undefined if the route accepts none, or needs no sign-in. */
function KeyScope({ raw }: Operation) {
  const scope = raw['x-required-scope'];
  return scope === undefined ? 'API keys are refused' : <code>{scope}</code>;
}

/** Which callers may use an operation, and how often. */
export function Access({ operation, reference }: { operation: Operation; reference: Reference }) {
  const { raw, policy, parameters } = operation;
  const has = (name: string) => parameters.some((one) => one.in === 'header' && one.name === name);
  const acceptsKeys = reference.document.components?.securitySchemes?.apiKey !== undefined;
  return (
    <Section title="Access">
      <Facts
        of={[
          ['Callers', policyInWords(policy, actionOf(operation))],
          ['Policy', <code>{policy}</code>],
          ['Sign-in', signInText(operation)],
          ['Scope of an API key', acceptsKeys && needsSignIn(operation) ? <KeyScope {...operation} /> : undefined],
          ['Recent sign-in', raw['x-recent-sign-in'] ? 'required' : undefined],
          ['Rate limit', limitText(operation, reference)],
          [
            'Repeating it safely',
            has('Idempotency-Key') ? (
              <>
                send an <code>Idempotency-Key</code>
              </>
            ) : undefined,
          ],
          [
            'Detecting conflicts',
            has('If-Match') ? (
              <>
                send the version as <code>If-Match</code>
              </>
            ) : undefined,
          ],
        ]}
      />
    </Section>
  );
}
