import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DbusMessage, readDbusMessage, writeDbusMessage } from './dbus-message.ts';

/** A notification on the screen. */
export interface ShownNotification {
  id: number;
  title: string;
  body: string;
}

/** A desktop as a browser on Linux sees it: it shows notifications, which a test can click. */
export interface Desktop {
  /** The value of `DBUS_SESSION_BUS_ADDRESS` for the browser. */
  busAddress: string;
  /** The notifications on the screen, oldest first. */
  shown(): ShownNotification[];
  click(id: number): void;
  close(): Promise<void>;
}

const NAME = 'org.freedesktop.Notifications';
const PATH = '/org/freedesktop/Notifications';
/** The desktop's unique name on the bus. */
const OWNER = ':1.0';

type Reply = DbusMessage['body'] | { error: string };
const refused = (error: string): Reply => ({ error: `org.freedesktop.DBus.Error.${error}` });

/** The replies of the bus itself. */
function busReply({ member, body }: DbusMessage, client: string): Reply {
  const known = body[0] === NAME;
  switch (member) {
    case 'Hello':
      return [client];
    case 'NameHasOwner':
      return [known];
    case 'GetNameOwner':
      return known ? [OWNER] : refused('NameHasNoOwner');
    case 'RequestName':
      return [1];
    case 'AddMatch':
    case 'RemoveMatch':
      return [];
    default:
      return refused('UnknownMethod');
  }
}

/**
 * Starts a desktop: a D-Bus session bus whose only service shows notifications.
 * https://specifications.freedesktop.org/notification-spec/latest/protocol.html
 */
export async function startDesktop(): Promise<Desktop> {
  const folder = mkdtempSync(join(tmpdir(), 'belfry-bus-'));
  const sockets = new Set<Socket>();
  const screen = new Map<
    number,
    { notification: ShownNotification; tell: (member: string, last: string | number) => void }
  >();
  let ids = 0;
  let serials = 0;

  /** The replies of the notification service. `tell` signals an event of a notification to the client that showed it. */
  function serviceReply(
    { member, body }: DbusMessage,
    tell: (member: string, body: DbusMessage['body']) => void,
  ): Reply {
    switch (member) {
      case 'GetCapabilities':
        return [['actions', 'body']];
      case 'GetServerInformation':
        return ['Desktop', 'Belfry', '1', '1.2'];
      case 'Notify': {
        const [, replaces, , title, text] = body as [string, number, string, string, string];
        const id = replaces === 0 ? ++ids : replaces;
        screen.set(id, { notification: { id, title, body: text }, tell: (name, last) => tell(name, [id, last]) });
        return [id];
      }
      case 'CloseNotification': {
        const id = body[0] as number;
        screen.get(id)?.tell('NotificationClosed', 3);
        screen.delete(id);
        return [];
      }
      default:
        return refused('UnknownMethod');
    }
  }

  function response(socket: Socket, client: string, call: DbusMessage): void {
    const send = (message: Partial<DbusMessage> & Pick<DbusMessage, 'type' | 'body'>) =>
      socket.write(writeDbusMessage({ destination: client, serial: ++serials, ...message }));
    const signal = (member: string, body: DbusMessage['body']) =>
      send({ type: 'signal', path: PATH, interface: NAME, member, sender: OWNER, body });
    const isBus = call.destination === 'org.freedesktop.DBus';
    const sender = isBus ? 'org.freedesktop.DBus' : OWNER;
    const isService = call.destination === NAME || call.destination === OWNER;
    const reply = isBus ? busReply(call, client) : isService ? serviceReply(call, signal) : refused('ServiceUnknown');
    const to = { sender, replySerial: call.serial };
    if (Array.isArray(reply)) send({ type: 'return', ...to, body: reply });
    else send({ type: 'error', ...to, errorName: reply.error, body: ['no'] });
  }

  let clients = 0;
  const server = createServer((socket) => {
    const client = `:1.${++clients}`;
    let data = Buffer.alloc(0);
    let greeted = false;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.on('data', (more) => {
      data = Buffer.concat([data, more]);
      while (!greeted) {
        const end = data.indexOf('\r\n');
        if (end === -1) return;
        const line = data.toString('utf8', 0, end).replace('\0', '');
        data = data.subarray(end + 2);
        greeted = line === 'BEGIN';
        if (line.startsWith('AUTH EXTERNAL')) socket.write(`OK ${'0'.repeat(32)}\r\n`);
        else if (!greeted) socket.write('ERROR\r\n');
      }
      for (let read = readDbusMessage(data); read !== undefined; read = readDbusMessage(data)) {
        data = data.subarray(read.length);
        if (read.message.type === 'call') response(socket, client, read.message);
      }
    });
  });
  server.listen(join(folder, 'bus'));
  await once(server, 'listening');
  return {
    busAddress: `unix:path=${join(folder, 'bus')}`,
    shown: () => [...screen.values()].map(({ notification }) => notification),
    click(id) {
      screen.get(id)?.tell('ActionInvoked', 'default');
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
      rmSync(folder, { recursive: true });
    },
  };
}
