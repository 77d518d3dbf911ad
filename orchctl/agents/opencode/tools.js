// A plugin for the opencode servers that orchctl starts: a command that an agent runs sees whose conversation it is in.
// What it is to see is kept with the conversation (session.py); what a sub-agent runs belongs to the one it works for.
// It needs no package, and whatever goes wrong here, the command is run.

const DEEPEST = 64 // sub-agents of sub-agents
const PASSWORD = "OPENCODE_SERVER_PASSWORD" // with it a command could answer what its agent asks
const OURS = ["npm_config_fetch_retries", "npm_config_fetch_timeout"] // set for the server alone (harness.py)

async function environmentOf(client, id) {
  for (let depth = 0; id && depth < DEEPEST; depth++) {
    const { data } = await client.session.get({ path: { id } })
    if (data?.metadata?.orchctl_env) return data.metadata.orchctl_env
    id = data?.parentID
  }
  return {}
}

export default {
  id: "orchctl-tools",
  server: async ({ client }, options) => ({
    "shell.env": async (input, output) => {
      output.env[PASSWORD] = undefined
      for (const name of options?.hidden ?? []) if (OURS.includes(name)) output.env[name] = undefined
      try {
        Object.assign(output.env, await environmentOf(client, input.sessionID))
      } catch {}
    },
  }),
}
