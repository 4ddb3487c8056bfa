import type { ComponentChildren } from 'preact';
import { DataTable, Loaded, Page, place, Section, type TableColumn, useLoaded } from '../../console/kit.ts';
import { numberText, windowText } from './format.tsx';
import { Clients } from './limit-clients.tsx';
import { Search } from './limit-search.tsx';
import { Lockouts } from './lockouts.tsx';
import type { CountedClients, LimitRule, LimitRules, LockoutList } from './types.ts';

const POLL_MS = 5000;

/** A limit as a row of the table. */
interface RuleRow {
  id: string;
  name: ComponentChildren;
  rule: string;
  setting: string;
  about: ComponentChildren;
}

/** A rule in words; null: there is none. */
const ruleText = (rule: LimitRule | null) =>
  rule === null ? 'no limit' : `${numberText(rule.limit)} in ${windowText(rule.windowMs)}`;

const RULE_COLUMNS: TableColumn<RuleRow>[] = [
  { name: 'name', label: 'Limit', render: ({ name }) => name },
  { name: 'rule', label: 'Each client may send', render: ({ rule }) => rule },
  {
    name: 'setting',
    label: 'Set by',
    render: ({ setting }) =>
      setting.startsWith('settings.') ? <code class="operations-commit">{setting}</code> : setting,
  },
  { name: 'about', label: 'Applies to', render: ({ about }) => about },
];

function AuthRoutes({ routes }: { routes: string[] }) {
  if (routes.length === 0) return 'no route';
  return (
    <details>
      <summary>{routes.length} routes, each on its own</summary>
      <ul class="operations-routes">
        {routes.map((route) => (
          <li key={route}>
            <code>{route}</code>
          </li>
        ))}
      </ul>
    </details>
  );
}

/** The configured limits as rows of a table. */
function rowsOf({ global: all, auth, authRoutes, routes, others, lockout }: LimitRules): RuleRow[] {
  const rows: RuleRow[] = [
    {
      id: 'all',
      name: 'Global',
      rule: ruleText(all),
      setting: 'settings.rateLimit.global',
      about: 'all routes together',
    },
    {
      id: 'auth',
      name: 'Sign-in',
      rule: ruleText(auth),
      setting: 'settings.rateLimit.auth',
      about: <AuthRoutes routes={authRoutes} />,
    },
    ...routes.map((route) => ({
      id: route.route,
      name: <code>{route.route}</code>,
      rule: ruleText(route),
      setting: 'the route',
      about: 'this route',
    })),
    ...others.map((other) => ({
      id: other.name,
      name: other.name,
      rule: ruleText(other),
      setting: 'the feature',
      about: 'what the feature counts',
    })),
  ];
  if (lockout === null) return rows;
  const { maxAttempts, windowMinutes, lockMinutes } = lockout;
  return [
    ...rows,
    {
      id: 'lockout',
      name: 'Failed sign-ins',
      rule: `${maxAttempts} failures in ${windowMinutes} min, then locked for ${lockMinutes} min`,
      setting: 'settings.auth.lockout',
      about: 'sign-ins of one e-mail address, and confirmations of one user',
    },
  ];
}

function Rules({ rules }: { rules: LimitRules }) {
  return (
    <Section title="Configured limits">
      {!rules.isEnabled && (
        <p class="banner warn" role="status">
          <span>
            Rate limits are off: <code>settings.rateLimit.enabled</code> is false, or this is a test. Lockouts apply.
          </span>
        </p>
      )}
      {rules.isEnabled && !rules.areLoopbackClientsLimited && (
        <p class="banner warn" role="status">
          <span>
            Clients on this machine have no rate limit, because <code>LOOPBACK_RATE_LIMITS</code> is off.
          </span>
        </p>
      )}
      <DataTable label="Configured limits" rows={rowsOf(rules)} columns={RULE_COLUMNS} />
    </Section>
  );
}

/** Rate limits and lockouts: the rules, and the clients and accounts that they concern now. */
export function LimitsPage() {
  const rules = useLoaded<LimitRules>('/operations/limits');
  const clients = useLoaded<CountedClients>('/operations/limits/clients', { everyMs: POLL_MS });
  const lockouts = useLoaded<LockoutList>('/operations/limits/lockouts', { everyMs: POLL_MS });
  const reload = () => Promise.all([clients.reload(), lockouts.reload()]);
  return (
    <Page
      title="Limits and locks"
      intro="How many requests clients may send, and which clients and accounts are refused now."
    >
      <Search key={place.value.params.get('q')} onChange={reload} />
      <Clients from={clients} />
      <Lockouts from={lockouts} />
      <Loaded from={rules}>{(data) => <Rules rules={data} />}</Loaded>
    </Page>
  );
}
