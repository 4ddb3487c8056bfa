import { Facts, Status } from '../../console/kit.ts';
import { durationText, Explained, Marked, Meter, msText, numberText, percentText, sizeText } from './format.tsx';
import { texts } from './texts.ts';
import type { Overview, PostgresState, RedisServer, ServerProblem } from './types.ts';

const { servers: words } = texts;

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
        [words.version, `Postgres ${state.version}`],
        [words.latency, <Explained note={words.latencyNote}>{msText(state.latencyMs)}</Explained>],
        [
          words.connections,
          <Explained note={words.connectionsNote}>
            <Meter
              value={connections}
              max={maxConnections}
              text={words.connectionsValue(numberText(connections), numberText(maxConnections))}
              isHigh={connections > 0.9 * maxConnections}
            />
          </Explained>,
        ],
        [
          words.sessions,
          <Explained note={words.sessionsNote}>
            {words.sessionsActive(numberText(state.active))},{' '}
            {words.sessionsWaiting(numberText(state.waitingForLock), numberText(state.idleInTransaction))}
          </Explained>,
        ],
        [words.cache, <Explained note={words.cacheNote}>{percentText(state.cacheHits)}</Explained>],
        [words.size, sizeText(state.bytes)],
        [words.deadlocks, <Explained note={words.deadlocksNote}>{numberText(state.deadlocks)}</Explained>],
        [words.uptime, durationText(state.uptimeSeconds)],
      ]}
    />
  );
}

function RedisMemory({ server: { usedBytes, maxBytes } }: { server: RedisServer }) {
  if (usedBytes === null || !maxBytes) return words.memoryUnlimited(sizeText(usedBytes));
  return (
    <Meter
      value={usedBytes}
      max={maxBytes}
      text={words.memoryValue(sizeText(usedBytes), sizeText(maxBytes))}
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
            [words.address, server.address],
            [words.latency, msText(server.latencyMs)],
          ]}
        />
        <p class="soft">
          <Marked text={words.noInfo} />
        </p>
      </>
    );
  return (
    <Facts
      of={[
        [words.version, server.version],
        [words.latency, <Explained note={words.latencyNote}>{msText(server.latencyMs)}</Explained>],
        [words.memory, <RedisMemory server={server} />],
        [
          words.eviction,
          server.evictionPolicy === 'noeviction' ? (
            <Explained note={words.evictionNote}>{words.evictionNone}</Explained>
          ) : (
            <Explained note={words.evictionBad}>
              <Status kind="warn">{words.evictionSome(server.evictionPolicy ?? '–')}</Status>
            </Explained>
          ),
        ],
        [words.clients, <Explained note={words.clientsNote}>{numberText(server.clients)}</Explained>],
        [words.commands, numberText(server.commandsPerSecond)],
        [words.evicted, <Explained note={words.evictedNote}>{numberText(server.evictedKeys)}</Explained>],
        [words.uptime, durationText(server.uptimeSeconds)],
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
