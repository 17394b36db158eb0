// A key pair as the ollama CLI has one, and its signature of a request.

import { generateKeyPairSync, sign } from 'node:crypto'

export interface SshKey {
  /** As it stands in id_ed25519.pub. */
  line: string
  /** The header of a request whose line, `METHOD,/path?ts=SECONDS`, this is. */
  signed(line: string): { authorization: string }
}

export function sshKey(): SshKey {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const raw = publicKey.export({ type: 'spki', format: 'der' }).subarray(-32)
  const size = (n: number) => Buffer.from([0, 0, 0, n])
  const wire = Buffer.concat([size(11), Buffer.from('ssh-ed25519'), size(32), raw]).toString(
    'base64',
  )
  return {
    line: `ssh-ed25519 ${wire} me@box\n`,
    signed(line) {
      const signature = sign(null, Buffer.from(line), privateKey).toString('base64')
      return { authorization: `${wire}:${signature}` }
    },
  }
}
