import type { Translations } from '../catalogue.ts';

/** Jobs, pushes and e-mails. */
export const jobAndMessageMessages: Translations = {
  // Jobs.
  'There is no job with this id': 'Es gibt keinen Job mit dieser ID',
  'This job has no input': 'Dieser Job hat keine Eingabe',
  'Must be a job or its name': 'Muss ein Job oder sein Name sein',
  'Must be a time: a Date, ISO 8601 or epoch milliseconds':
    'Muss ein Zeitpunkt sein: ein Date, ISO 8601 oder Millisekunden seit 1970',
  'Must be at most {years:number} years ahead': 'Darf höchstens {years} Jahre in der Zukunft liegen',
  'Another job with the same key is waiting or running': 'Ein anderer Job mit demselben Schlüssel wartet oder läuft',
  'Jobs with this key begin and end too quickly; try again':
    'Jobs mit diesem Schlüssel beginnen und enden zu schnell; versuchen Sie es erneut',
  'The job {state:text}, so it cannot be cancelled': 'Der Job {state} und kann nicht abgebrochen werden',
  'The job {state:text}, so it cannot be cancelled. Enqueue it again instead':
    'Der Job {state} und kann nicht abgebrochen werden. Reihen Sie ihn stattdessen neu ein',
  'The job {state:text}, so it cannot be retried': 'Der Job {state} und kann nicht wiederholt werden',
  'The job {state:text}, so it cannot be retried. Enqueue it again instead':
    'Der Job {state} und kann nicht wiederholt werden. Reihen Sie ihn stattdessen neu ein',
  'is waiting to run': 'wartet auf seine Ausführung',
  'is running': 'läuft',
  'has succeeded': 'war erfolgreich',
  'has failed': 'ist fehlgeschlagen',
  'has cancelled': 'ist abgebrochen',

  // Pushes and devices.
  'There is no push with this id': 'Es gibt keinen Push mit dieser ID',
  'There is no device with this id': 'Es gibt kein Gerät mit dieser ID',
  'Must be a user id or an array of user ids': 'Muss die ID eines Benutzers oder ein Array solcher IDs sein',
  'Must be an array of device ids': 'Muss ein Array von IDs von Geräten sein',
  'Must be an array of tokens': 'Muss ein Array von Tokens sein',
  'Must be the name of a sound, or false': 'Muss der Name eines Tons sein, oder false',
  'Must not start with sim_, which is reserved for simulated devices':
    'Darf nicht mit sim_ beginnen, was simulierten Geräten vorbehalten ist',
  'Must not start with sim_, which is for simulated devices: use deviceIds or to instead':
    'Darf nicht mit sim_ beginnen, was für simulierte Geräte ist: Verwenden Sie stattdessen deviceIds oder to',
  'Must be the JSON of a PushSubscription, with endpoint and keys':
    'Muss das JSON einer PushSubscription sein, mit endpoint und keys',
  'Must be a PushSubscription whose endpoint belongs to a known push service':
    'Muss eine PushSubscription sein, deren Endpunkt zu einem bekannten Push-Dienst gehört',
  'Must be a PushSubscription whose endpoint is an https URL of a public host':
    'Muss eine PushSubscription sein, deren Endpunkt eine https-URL eines öffentlichen Hosts ist',
  'No transport of this app accepts Expo push tokens; send the native device token (getDevicePushTokenAsync of expo-notifications)':
    'Kein Transport dieser App nimmt Expo-Push-Tokens an; senden Sie das native Token des Geräts (getDevicePushTokenAsync von expo-notifications)',
  'Is required for a silent message': 'Ist für eine stille Nachricht erforderlich',
  'Is required, unless deviceIds or tokens are given':
    'Ist erforderlich, außer wenn deviceIds oder tokens angegeben sind',
  'Is required, unless the message has a body, or is silent and has data':
    'Ist erforderlich, außer wenn die Nachricht einen body hat oder still ist und data hat',
  'Texts and data have {bytes} bytes together; providers accept at most {max}':
    'Texte und Daten haben zusammen {bytes} Bytes; Anbieter nehmen höchstens {max} an',
  'Must be smaller: {problem}': 'Muss kleiner sein: {problem}',

  // E-mails.
  'Set either to, the address, or user, the id or record of a user':
    'Setzen Sie entweder to, die Adresse, oder user, die ID oder den Datensatz eines Benutzers',
};
