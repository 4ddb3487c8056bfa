import {
  ActionButton,
  BarChart,
  Facts,
  Figure,
  html,
  Loaded,
  Page,
  Section,
  Status,
  Time,
  useLoaded,
} from 'belfry/console';
import { durationText, Meter, msText, numberText, percentText, sizeText, versionText } from './format.js';

const POLL_MS = 5000;
const KINDS = { ok: 'good', warning: 'warn', error: 'bad' };
const NAMES = { ok: 'OK', warning: 'Warning', error: 'Error' };
const BASE = '/console/operations';
const PATHS = { overview: '', processes: '/processes', queues: '/queues', slow: '/slow' };

const countChecks = (count) => (count === 1 ? 'One check below has' : `${count} checks below have`);

/** Says in one line whether the app works, and what needs attention. @param {{ concerns: any[], findings: any[] }} props */
function Verdict({ concerns, findings }) {
  const count = findings.filter(({ level }) => level !== 'ok').length;
  if (concerns.length === 0)
    return html`<p class=${`operations-verdict ${count > 0 ? 'warn' : 'good'}`} role="status">
      <b>Everything works.</b> Servers, processes and queues are within their limits.${count > 0 && ` ${countChecks(count)} a remark.`}
    </p>`;
  const hasErrors = concerns.some(({ level }) => level === 'error');
  return html`<div class=${`operations-verdict ${hasErrors ? 'bad' : 'warn'}`} role="status">
    <b>${concerns.length === 1 ? 'One thing needs' : `${concerns.length} things need`} attention.</b>
    <ul>
      ${concerns.map(
        ({ level, message, section }) => html`<li key=${message}>
          <${Status} kind=${KINDS[level]}>${NAMES[level]}<//>
          <span>${message}${section !== 'overview' && html` · <a href=${BASE + PATHS[section]}>Show</a>`}</span>
        </li>`,
      )}
    </ul>
  </div>`;
}

/** Instead of numbers that only Redis knows, while it is not usable. */
const UNKNOWN = 'not known without Redis';

const UnknownFigure = ({ label }) => html`<${Figure} label=${label} value="–" note=${UNKNOWN} />`;

function RequestFigures({ requests }) {
  if (requests === undefined)
    return ['Requests a minute', 'Failed requests', '95th percentile'].map(
      (label) => html`<${UnknownFigure} key=${label} label=${label} />`,
    );
  const { count, failed, seconds, inFlight, p95Ms, meanMs } = requests;
  const perMinute = seconds === 0 ? null : Math.round((count / seconds) * 60);
  return html`<${Figure} label="Requests a minute" value=${numberText(perMinute)} note=${`${numberText(inFlight)} in flight`} />
    <${Figure}
      label="Failed requests"
      value=${count === 0 ? '–' : percentText(failed / count)}
      note=${`${numberText(failed)} of ${numberText(count)}`}
      kind=${failed > 0 ? 'bad' : ''}
    />
    <${Figure} label="95th percentile" value=${p95Ms === null ? '–' : `≤ ${msText(p95Ms)}`} note=${`mean ${msText(meanMs)}`} />`;
}

function Figures({ data: { requests, processes, outbox, queues } }) {
  return html`<div class="figures operations-figures">
    <${RequestFigures} requests=${requests} />
    ${
      processes === undefined
        ? html`<${UnknownFigure} label="Processes" />`
        : html`<${Figure} label="Processes" value=${numberText(processes.length)} note=${html`<a href="/console/operations/processes">Show all</a>`} />`
    }
    <${Figure}
      label="Outbox"
      value=${outbox === undefined ? '–' : `${numberText(outbox.rows)}${outbox.isCapped ? '+' : ''}`}
      note=${outbox?.oldestSeconds ? `oldest ${durationText(Math.round(outbox.oldestSeconds))}` : 'nothing waits'}
    />
    ${
      queues === undefined
        ? html`<${UnknownFigure} label="Queue entries" />`
        : html`<${Figure}
            label="Queue entries"
            value=${numberText(queues.waiting + queues.active)}
            note=${`${numberText(queues.active)} running, ${numberText(queues.delayed)} scheduled`}
          />`
    }
  </div>`;
}

/** The label of an interval of the chart: how long ago it ended. */
function labelOf(index, { points, intervalSeconds }) {
  const seconds = (points.length - 1 - index) * intervalSeconds;
  return seconds === 0 ? 'now' : `${durationText(seconds)} ago`;
}

const Unknown = () => html`<p class="soft">${UNKNOWN.replace(/^n/, 'N')}.</p>`;

function Requests({ requests }) {
  if (requests === undefined) return html`<${Unknown} />`;
  if (requests.points.length < 2)
    return html`<p class="soft">Processes report their requests every ${requests.intervalSeconds} seconds; the first numbers arrive in a moment.</p>`;
  const points = requests.points.map(({ count, failed }, index) => ({
    label: labelOf(index, requests),
    parts: [
      { kind: 'good', name: 'Served', value: count - failed },
      { kind: 'bad', name: 'Failed', value: failed },
    ],
  }));
  return html`<${BarChart} label="Requests of all processes" points=${points} height=${96} />`;
}

function Problem({ of: { problem, fix } }) {
  return html`<p class="banner bad"><span>${problem}.${fix && ` ${fix.replace(/^./, (letter) => letter.toUpperCase())}.`}</span></p>`;
}

function Postgres({ state }) {
  if (state.problem !== undefined) return html`<${Problem} of=${state} />`;
  const { connections, maxConnections } = state;
  return html`<${Facts}
    of=${[
      ['Version', `Postgres ${state.version}`],
      ['Response time', msText(state.latencyMs)],
      [
        'Connections of all programs',
        html`<${Meter}
          value=${connections}
          max=${maxConnections}
          text=${`${connections} of ${maxConnections}`}
          isHigh=${connections > 0.9 * maxConnections}
        />`,
      ],
      [
        'Sessions',
        `${state.active} active, ${state.waitingForLock} waiting for a lock, ${state.idleInTransaction} idle in a transaction`,
      ],
      ['Reads from memory', percentText(state.cacheHits)],
      ['Size of the database', sizeText(state.bytes)],
      ['Deadlocks', numberText(state.deadlocks)],
      ['Running for', durationText(state.uptimeSeconds)],
    ]}
  />`;
}

function RedisServer({ server }) {
  const { usedBytes, maxBytes } = server;
  if (server.version === null)
    return html`<${Facts} of=${[['Address', server.address], ['Response time', msText(server.latencyMs)]]} />
      <p class="soft">The user of <code>REDIS_URL</code> may not run <code>INFO</code>, so nothing more is known.</p>`;
  return html`<${Facts}
    of=${[
      ['Version', server.version],
      ['Response time', msText(server.latencyMs)],
      [
        'Memory',
        maxBytes > 0
          ? html`<${Meter}
              value=${usedBytes}
              max=${maxBytes}
              text=${`${sizeText(usedBytes)} of ${sizeText(maxBytes)}`}
              isHigh=${usedBytes > 0.9 * maxBytes}
            />`
          : `${sizeText(usedBytes)}, no limit set`,
      ],
      [
        'When memory is full',
        server.evictionPolicy === 'noeviction'
          ? 'refuses writes (noeviction)'
          : html`<${Status} kind="warn">deletes keys (${server.evictionPolicy})<//>`,
      ],
      ['Clients', numberText(server.clients)],
      ['Commands per second', numberText(server.commandsPerSecond)],
      ['Evicted keys', numberText(server.evictedKeys)],
      ['Running for', durationText(server.uptimeSeconds)],
    ]}
  />`;
}

function Redis({ state }) {
  if (state.problem !== undefined) return html`<${Problem} of=${state} />`;
  return state.servers.map(
    (server) => html`<div key=${server.address} class="operations-server">
      ${state.servers.length > 1 && html`<h3>${server.address}</h3>`}<${RedisServer} server=${server} />
    </div>`,
  );
}

/** The versions that run, with the number of their processes. */
function Versions({ processes }) {
  if (processes === undefined) return html`<${Unknown} />`;
  const groups = Map.groupBy(processes, ({ version, appVersion }) => `${version} ${appVersion ?? ''}`);
  return html`<ul class="operations-versions">
    ${[...groups].map(
      ([key, group]) => html`<li key=${key}>
        Belfry <b>${group[0].version}</b>${
          group[0].appVersion
            ? html`, app <b title=${group[0].appVersion}>${versionText(group[0].appVersion)}</b>`
            : html`<span class="soft">, app version not known: set <code>APP_VERSION</code></span>`
        }
        <span class="soft"> · ${group.length} ${group.length === 1 ? 'process' : 'processes'}</span>
      </li>`,
    )}
  </ul>`;
}

function Finding({ level, message, fix }) {
  return html`<li>
    <${Status} kind=${KINDS[level]}>${NAMES[level]}<//>
    <span>${message}.${fix && html`<span class="soft operations-fix">To fix it, ${fix}.</span>`}</span>
  </li>`;
}

const LEVELS = ['error', 'warning', 'ok'];

/** The findings of `belfry doctor`. */
function Checks({ checks }) {
  return html`<${Section}
    title="Checks"
    actions=${html`${checks.data && html`<span class="soft">Checked <${Time} value=${checks.data.at} /></span>`}
      <${ActionButton} run=${checks.reload}>Check again<//>`}
  >
    <${Loaded} from=${checks}>
      ${({ findings }) => html`<ul class="operations-findings">
        ${findings
          .toSorted((a, b) => LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level))
          .map((finding) => html`<${Finding} key=${finding.message} ...${finding} />`)}
      </ul>`}
    <//>
    <p class="soft operations-note">
      The checks of <code>npx belfry doctor</code>, run by this process: at most every 30 seconds.
    </p>
  <//>`;
}

/** Whether everything is fine, at a glance. */
export function OverviewPage() {
  const overview = useLoaded('/operations/overview', { everyMs: POLL_MS });
  const checks = useLoaded('/operations/checks');
  return html`<${Page} title="Operations" intro="The state of the running app. This page updates itself every 5 seconds.">
    <${Loaded} from=${overview}>
      ${(data) => html`<${Verdict} concerns=${data.concerns} findings=${checks.data?.findings ?? []} />
        <${Figures} data=${data} />
        <${Section} title="Requests of the last five minutes"><${Requests} requests=${data.requests} /><//>
        <div class="operations-columns">
          <${Section} title="Postgres"><${Postgres} state=${data.postgres} /><//>
          <${Section} title="Redis"><${Redis} state=${data.redis} /><//>
        </div>
        <${Section} title="Versions"><${Versions} processes=${data.processes} /><//>`}
    <//>
    <${Checks} checks=${checks} />
  <//>`;
}
