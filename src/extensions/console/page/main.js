import { deviceView } from './device.js';
import { element, keepList } from './element.js';
import { follow } from './live.js';
import { request } from './requests.js';
import { sendView } from './send.js';

const byId = (id) => document.getElementById(id);
let state = { devices: [], users: [], pushes: [] };

function showUsers(users) {
  const select = byId('add').elements.user;
  const text = JSON.stringify(users);
  if (select.dataset.users === text) return;
  const { value } = select;
  select.replaceChildren(...users.map(({ id, label }) => element('option', { value: id }, label)));
  if (users.some(({ id }) => id === value)) select.value = value;
  select.dataset.users = text;
}

function show(next) {
  state = next;
  const names = new Map(state.devices.map(({ id, name, owner }) => [id, name ?? owner]));
  keepList(byId('devices'), state.devices, deviceView);
  const sends = state.pushes.map((push) => ({
    ...push,
    names: push.devices.flatMap(({ device }) => (names.has(device) ? [[device, names.get(device)]] : [])),
  }));
  keepList(byId('sends'), sends, sendView);
  byId('no-devices').hidden = state.devices.length > 0;
  byId('no-sends').hidden = sends.length > 0;
  showUsers(state.users);
}

function tell(connected) {
  const status = byId('connection');
  status.textContent = connected ? 'Live' : 'No connection; trying again…';
  status.className = connected ? 'live' : 'lost';
}

/** The fields that were filled in. */
function filled(form) {
  const entries = [...new FormData(form)].filter(([, value]) => value !== '');
  return Object.fromEntries(entries.map(([name, value]) => [name, name === 'badge' ? Number(value) : value]));
}

byId('add').addEventListener('submit', async (event) => {
  event.preventDefault();
  if (await request('POST', 'devices', filled(event.target))) event.target.elements.name.value = '';
});
byId('send').addEventListener('submit', (event) => {
  event.preventDefault();
  const deviceIds = state.devices.map(({ id }) => id);
  request('POST', 'sends', { deviceIds, content: filled(event.target) });
});
follow(show, tell);
