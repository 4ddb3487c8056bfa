import { formatFindings } from '../terminal/findings.ts';
import { alignColumns, formatCount, formatDuration, pluralize, stripControlCharacters } from '../terminal/terminal.ts';
import { describeEndpoints } from './endpoints.ts';
import type { StatusReport } from './report.ts';

const NONE = '-';
const UNKNOWN = '?';

const formatSeconds = (seconds: number | null) => (seconds === null ? NONE : formatDuration(seconds * 1000));
const formatAge = (at: string | null, now: number) =>
  at === null ? NONE : `${formatDuration(Math.max(0, now - Date.parse(at)))} ago`;

function roleLines({ roles }: StatusReport, now: number): string[] {
  const rows = roles.map(({ role, processes, seenAt, waiting }) => [
    role,
    processes === null ? UNKNOWN : formatCount(processes),
    formatAge(seenAt, now),
    waiting
      .map(({ name, due, isCapped, oldestSeconds }) => {
        const oldest = due > 0 && oldestSeconds !== null ? ` (the oldest for ${formatSeconds(oldestSeconds)})` : '';
        return `${name}: ${formatCount(due)}${isCapped ? '+' : ''}${oldest}`;
      })
      .join(', ') || NONE,
  ]);
  return alignColumns([['role', 'processes', 'last seen', 'waiting'], ...rows]);
}

function processLines({ processes }: StatusReport, now: number): string[] {
  if (processes === null || processes.length === 0) return [];
  const rows = processes.map(({ host, pid, roles, version, appVersion, node, startedAt, seenAt }) =>
    [
      `${host ?? UNKNOWN}:${pid ?? UNKNOWN}`,
      roles.join(', '),
      formatAge(startedAt, now),
      formatAge(seenAt, now),
      version ?? UNKNOWN,
      node ?? UNKNOWN,
      appVersion ?? NONE,
    ].map(stripControlCharacters),
  );
  return ['', ...alignColumns([['process', 'roles', 'started', 'last seen', 'belfry', 'node', 'app'], ...rows])];
}

function queueLines({ queues }: StatusReport): string[] {
  if (queues === null || queues.length === 0) return [];
  const rows = queues.map(({ name, waiting, active, delayed, failed, oldestSeconds, workers }) => [
    stripControlCharacters(name),
    ...[waiting, active, delayed, failed].map(formatCount),
    formatSeconds(oldestSeconds),
    formatCount(workers),
  ]);
  return ['', ...alignColumns([['queue', 'waiting', 'active', 'delayed', 'failed', 'oldest', 'workers'], ...rows])];
}

function describeMigrations({ migrations }: StatusReport): string {
  if (migrations === null) return UNKNOWN;
  return migrations.pending.length === 0 ? 'none pending' : `${formatCount(migrations.pending.length)} pending`;
}

function describeJobs({ jobs }: StatusReport): string {
  if (jobs === null) return UNKNOWN;
  const { waiting, scheduled, running, failed, isCapped } = jobs;
  const later = scheduled > 0 ? ` (${formatCount(scheduled)} scheduled)` : '';
  return `${formatCount(waiting)} waiting${later}, ${formatCount(running)} running, ${formatCount(failed)} failed${isCapped ? ', or more' : ''}`;
}

function factLines(report: StatusReport): string[] {
  const { versions, webhooks } = report;
  const facts = [
    ...(webhooks === null
      ? []
      : [
          ['webhooks', `endpoints: ${describeEndpoints(webhooks.endpoints)}`],
          ['', `${pluralize(webhooks.failed, 'delivery', 'deliveries')} failed every attempt`],
        ]),
    ['jobs', describeJobs(report)],
    ['migrations', describeMigrations(report)],
    [
      'versions',
      `Belfry ${versions.belfry}, Node ${versions.node}, Postgres ${versions.postgres ?? UNKNOWN}, ${versions.redis ?? `Redis ${UNKNOWN}`}`,
    ],
  ];
  return ['', ...alignColumns(facts)];
}

/** Formats the state of an app for people. @param now epoch ms */
export function statusLines(report: StatusReport, now: number): string[] {
  return [
    ...roleLines(report, now),
    ...processLines(report, now),
    ...queueLines(report),
    ...factLines(report),
    '',
    ...(report.problems.length === 0 ? ['Healthy.'] : formatFindings(report.problems)),
  ];
}
