import { deviceView } from './device.js';
import { element, updateList } from './element.js';
import { subscribe } from './live.js';
import { pushView } from './push.js';
import { request } from './requests.js';

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

/** Enables the submit button of a form, or shows what is missing. */
function enableForm(form, isPossible) {
  byId(form).querySelector('button').disabled = !isPossible;
  byId(`${form}-missing`).hidden = isPossible;
}

function showState(next) {
  state = next;
  updateList(byId('devices'), state.devices, deviceView);
  updateList(byId('sends'), state.pushes, pushView);
  const { length } = state.devices;
  byId('no-devices').hidden = length > 0;
  byId('no-sends').hidden = state.pushes.length > 0;
  byId('send-title').textContent = length > 1 ? `Send to all ${length} devices` : 'Send a notification';
  enableForm('send', length > 0);
  enableForm('add', state.users.length > 0);
  showUsers(state.users);
}

/** Returns the fields that are filled in. */
function filledFields(form) {
  const entries = [...new FormData(form)].filter(([, value]) => value !== '');
  return Object.fromEntries(entries.map(([name, value]) => [name, name === 'badge' ? Number(value) : value]));
}

byId('add').addEventListener('submit', async (event) => {
  event.preventDefault();
  if (await request('POST', '/console/push/devices', filledFields(event.target))) event.target.elements.name.value = '';
});
byId('send').addEventListener('submit', (event) => {
  event.preventDefault();
  const deviceIds = state.devices.map(({ id }) => id);
  request('POST', '/console/push/sends', { deviceIds, content: filledFields(event.target) });
});
subscribe('/console/push/events', showState);
