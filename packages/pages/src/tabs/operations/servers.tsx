import { Facts, Status } from '../../console/kit.ts';
import { durationText, Meter, msText, numberText, percentText, sizeText } from './format.tsx';
import type { Overview, PostgresState, RedisServer, ServerProblem } from './types.ts';

function Problem({ of: { problem, fix } }: { of: ServerProblem }) {
  return (
    <p class="banner bad">
      <span>
        {problem}.{fix && ` ${fix.replace(/^./, (letter) => letter.toUpperCase())}.`}
      </span>
    </p>
  );
}

/** The state of Postgres. */
export function Postgres({ state }: { state: PostgresState | ServerProblem }) {
  if ('problem' in state) return <Problem of={state} />;
  const { connections, maxConnections } = state;
  return (
    <Facts
      of={[
        ['Version', `Postgres ${state.version}`],
        ['Response time', msText(state.latencyMs)],
        [
          'Connections of all programs',
          <Meter
            value={connections}
            max={maxConnections}
            text={`${connections} of ${maxConnections}`}
            isHigh={connections > 0.9 * maxConnections}
          />,
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
    />
  );
}

function RedisMemory({ server: { usedBytes, maxBytes } }: { server: RedisServer }) {
  if (usedBytes === null || !maxBytes) return `${sizeText(usedBytes)}, no limit set`;
  return (
    <Meter
      value={usedBytes}
      max={maxBytes}
      text={`${sizeText(usedBytes)} of ${sizeText(maxBytes)}`}
      isHigh={usedBytes > 0.9 * maxBytes}
    />
  );
}

function RedisFacts({ server }: { server: RedisServer }) {
  if (server.version === null)
    return (
      <>
        <Facts
          of={[
            ['Address', server.address],
            ['Response time', msText(server.latencyMs)],
          ]}
        />
        <p class="soft">
          The user of <code>REDIS_URL</code> may not run <code>INFO</code>, so nothing more is known.
        </p>
      </>
    );
  return (
    <Facts
      of={[
        ['Version', server.version],
        ['Response time', msText(server.latencyMs)],
        ['Memory', <RedisMemory server={server} />],
        [
          'When memory is full',
          server.evictionPolicy === 'noeviction' ? (
            'refuses writes (noeviction)'
          ) : (
            <Status kind="warn">deletes keys ({server.evictionPolicy})</Status>
          ),
        ],
        ['Clients', numberText(server.clients)],
        ['Commands per second', numberText(server.commandsPerSecond)],
        ['Evicted keys', numberText(server.evictedKeys)],
        ['Running for', durationText(server.uptimeSeconds)],
      ]}
    />
  );
}

/** The state of Redis; several servers only in a cluster. */
export function Redis({ state }: { state: Overview['redis'] }) {
  if ('problem' in state) return <Problem of={state} />;
  return state.servers.map((server) => (
    <div key={server.address} class="operations-server">
      {state.servers.length > 1 && <h3>{server.address}</h3>}
      <RedisFacts server={server} />
    </div>
  ));
}
