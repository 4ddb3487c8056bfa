import type { ComponentChildren } from 'preact';
import { DataTable, Loaded, Page, place, Section, type TableColumn, useLoaded } from '../../console/kit.ts';
import { durationText, Marked, numberText, windowText } from './format.tsx';
import { Clients } from './limit-clients.tsx';
import { Search } from './limit-search.tsx';
import { Lockouts } from './lockouts.tsx';
import { texts } from './texts.ts';
import type { CountedClients, LimitRule, LimitRules, LockoutList } from './types.ts';

const { limits: words } = texts;
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
  rule === null ? words.noLimit : words.ruleValue(numberText(rule.limit), windowText(rule.windowMs));

const RULE_COLUMNS: TableColumn<RuleRow>[] = [
  { name: 'name', label: words.limit, render: ({ name }) => name },
  { name: 'rule', label: words.rule, render: ({ rule }) => rule },
  {
    name: 'setting',
    label: words.setBy,
    render: ({ setting }) =>
      setting.startsWith('settings.') ? <code class="operations-commit">{setting}</code> : setting,
  },
  { name: 'about', label: words.appliesTo, render: ({ about }) => about },
];

function AuthRoutes({ routes }: { routes: string[] }) {
  if (routes.length === 0) return words.noRoute;
  return (
    <details>
      <summary>{words.routes(numberText(routes.length))}</summary>
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
      name: words.all,
      rule: ruleText(all),
      setting: 'settings.rateLimit.global',
      about: words.allRoutes,
    },
    {
      id: 'auth',
      name: words.auth,
      rule: ruleText(auth),
      setting: 'settings.rateLimit.auth',
      about: <AuthRoutes routes={authRoutes} />,
    },
    ...routes.map((route) => ({
      id: route.route,
      name: <code>{route.route}</code>,
      rule: ruleText(route),
      setting: words.byRoute,
      about: words.thisRoute,
    })),
    ...others.map((other) => ({
      id: other.name,
      name: other.name,
      rule: ruleText(other),
      setting: words.byFeature,
      about: words.feature,
    })),
  ];
  if (lockout === null) return rows;
  const { maxAttempts, windowMinutes, lockMinutes } = lockout;
  return [
    ...rows,
    {
      id: 'lockout',
      name: words.lockout,
      rule: `${words.lockoutRule(numberText(maxAttempts), durationText(60 * windowMinutes))}, ${words.lockoutLock(durationText(60 * lockMinutes))}`,
      setting: 'settings.auth.lockout',
      about: words.lockoutAbout,
    },
  ];
}

function Rules({ rules }: { rules: LimitRules }) {
  return (
    <Section title={words.configured}>
      {!rules.isEnabled && (
        <p class="banner warn" role="status">
          <span>
            <Marked text={words.off} />
          </span>
        </p>
      )}
      {rules.isEnabled && !rules.areLoopbackClientsLimited && (
        <p class="banner warn" role="status">
          <span>
            <Marked text={words.loopbackOff} />
          </span>
        </p>
      )}
      <DataTable label={words.configured} rows={rowsOf(rules)} columns={RULE_COLUMNS} />
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
    <Page title={words.title} intro={words.intro}>
      <Search key={place.value.params.get('q')} onChange={reload} />
      <Clients from={clients} />
      <Lockouts from={lockouts} />
      <Loaded from={rules}>{(data) => <Rules rules={data} />}</Loaded>
    </Page>
  );
}
