import { Facts, Section } from '../kit/parts.tsx';
import { richText } from '../kit/rich-text.ts';
import { needsSignIn, type Operation } from './operations.ts';
import { policyInWords, rateText } from './policy.ts';
import type { Reference } from './reference.ts';
import { texts } from './texts.ts';

/** The action of a resource that an operation performs, for the meaning of `owner`. */
const actionOf = ({ id }: Operation) => /^(create|list)(?=[A-Z])/.exec(id)?.[1];

function signInText({ raw }: Operation): string {
  const schemes = new Set((raw.security ?? []).flatMap(Object.keys));
  if (schemes.size === 0) return texts.access.notNeeded;
  const known: Readonly<Record<string, string>> = texts.access.schemes;
  return [...schemes].map((name) => known[name] ?? name).join(texts.or);
}

function limitText({ raw }: Operation, { site: { totalLimit } }: Reference): string | undefined {
  const own = raw['x-rate-limit'];
  if (own !== undefined) return rateText(own);
  if (totalLimit === null) return texts.access.noLimit;
  return totalLimit && texts.access.allRoutes(rateText(totalLimit));
}

/** Which scope an API key needs; undefined if the route accepts none, or needs no sign-in. */
function KeyScope({ raw }: Operation) {
  const scope = raw['x-required-scope'];
  return scope === undefined ? texts.access.keysRefused : <code>{scope}</code>;
}

/** Which callers may use an operation, and how often. */
export function Access({ operation, reference }: { operation: Operation; reference: Reference }) {
  const { raw, policy, parameters } = operation;
  const has = (name: string) => parameters.some((one) => one.in === 'header' && one.name === name);
  const own = texts.access;
  const withHeader = (text: string, name: string) => richText(text, { header: <code>{name}</code> });
  const acceptsKeys = reference.document.components?.securitySchemes?.apiKey !== undefined;
  return (
    <Section title={own.heading}>
      <Facts
        of={[
          [own.callers, policyInWords(policy, actionOf(operation))],
          [own.policy, <code>{policy}</code>],
          [texts.signIn, signInText(operation)],
          [own.scope, acceptsKeys && needsSignIn(operation) ? <KeyScope {...operation} /> : undefined],
          [own.recent, raw['x-recent-sign-in'] ? texts.required : undefined],
          [own.limit, limitText(operation, reference)],
          [own.repeat, has('Idempotency-Key') ? withHeader(own.repeatText, 'Idempotency-Key') : undefined],
          [own.conflicts, has('If-Match') ? withHeader(own.conflictsText, 'If-Match') : undefined],
        ]}
      />
    </Section>
  );
}
