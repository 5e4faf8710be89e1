"""What the command says, in Chinese; the words are those of the pages (docs/languages.md)."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # --- asking
    "Why a job waits or was stopped, and when it comes back.": "作业为什么在等待或被停止，何时恢复。",
    "%(job)s %(name)s (%(user)s) in %(where)s: %(state)s": (
        "%(job)s %(name)s（%(user)s），分区 %(where)s：%(state)s"
    ),
    "My jobs, with their places in line and the reasons.": "我的作业，及其排队位置和原因。",
    "No jobs of %(user)s.": "没有 %(user)s 的作业。",
    "JOB": "作业",
    "PARTITION": "分区",
    "STATE": "状态",
    "PLACE": "位置",
    "STOPPED": "被停次数",
    "NAME": "名称",
    "WHY": "原因",
    "How much of a partition's quotas is used: by me, and by everybody for who may see that.": (
        "分区的配额用了多少：我的用量；有权查看的人可看到所有人的用量。"
    ),
    "Nothing is used of a quota in %(partition)s.": "分区 %(partition)s 中没有占用任何配额。",
    "LEVEL": "级别",
    "OF": "资源",
    "USED": "已用",
    "LIMIT": "上限",
    "USER": "用户",
    "full": "已满",
    "(all together)": "（所有用户合计）",
    "Get a token for a name and a password, and keep it.": "用用户名和密码换取令牌，并保存。",
    "Console": "控制台地址",
    "a password is not sent over plain http; use https (or --plain-http)": (
        "密码不会通过未加密的 http 发送；请使用 https（或 --plain-http）"
    ),
    "User name": "用户名",
    "Password: ": "密码：",
    "Logged in to %(address)s as %(user)s; the token is kept in %(path)s.": (
        "已以 %(user)s 登录 %(address)s；令牌保存在 %(path)s。"
    ),
    "A token with which a job can tell that it has saved its state; only that, only for that job.": (
        "供作业报告“状态已保存”的令牌；仅限此用途，仅限该作业。"
    ),
    "Called by a job: its state is saved, it may be stopped now.": (
        "由作业调用：状态已保存，现在可以停止它。"
    ),
    "GIVEWAY_JOB_TOKEN is not set; get one with: giveway checkpoint-token JOBID": (
        "未设置 GIVEWAY_JOB_TOKEN；用 giveway checkpoint-token JOBID 获取"
    ),
    "GIVEWAY_URL is not set": "未设置 GIVEWAY_URL",
    "Giveway knows that the state is saved.": "Giveway 已知道状态已保存。",
    # --- starting
    "When a job is expected to start, how sure that is, and what would make it sooner.": (
        "作业预计何时启动、把握多大，以及怎样能更早。"
    ),
    "%(job)s: no start is in sight.": "%(job)s：暂时看不到启动时间。",
    "It: no start is in sight.": "这样的作业：暂时看不到启动时间。",
    "%(job)s starts %(when)s": "%(job)s 预计启动：%(when)s",
    "It would start %(when)s": "预计启动：%(when)s",
    "a time that is not in sight": "尚无法预计的时间",
    "90 %% sure: between %(low)s and %(high)s": "90%% 的把握：在 %(low)s 与 %(high)s 之间",
    "It waits for the end of %(jobs)s": "等待这些作业结束：%(jobs)s",
    "With %(n)s nodes: %(when)s": "如果只用 %(n)s 个节点：%(when)s",
    "With a limit of %(limit)s: %(when)s": "如果时限为 %(limit)s：%(when)s",
    "As %(user)s, at level %(level)s": "用户 %(user)s，级别 %(level)s",
    "Worked out%(ago)s": "推算时间%(ago)s",
    "%(options)s: of a job that waits these are known. Leave out one or the other.": (
        "%(options)s：等待中的作业已有这些信息。作业号和这些选项请只给其一。"
    ),
    "Give a JOBID, or %(options)s too for a job not submitted yet.": (
        "请给出 JOBID；对尚未提交的作业，还要给出 %(options)s。"
    ),
    "%(first)s and %(second)s": "%(first)s 和 %(second)s",
    "The console has not answered within %(seconds)s s. Its worker for forecasts may not run.": (
        "控制台在 %(seconds)s 秒内没有回答。它的预测工作进程可能没有运行。"
    ),
    "--%(name)s: %(value)s is not a number from 1 on.": "--%(name)s：%(value)s 不是从 1 开始的数。",
    "--mem: memory is by node; give --nodes too.": "--mem：内存按节点计算；请同时给出 --nodes。",
    "--time: %(text)s is no time. Write it as for sbatch: 90, 2:00:00, 1-12.": (
        "--time：%(text)s 不是时间。请按 sbatch 的写法：90、2:00:00、1-12。"
    ),
    # --- steering
    "The latest plans: who was, or would be, stopped for whom.": "最近的计划：为哪些作业停止了（或将停止）哪些作业。",
    "No plans.": "没有计划。",
    "PLAN": "计划",
    "FOR": "为作业",
    "STOPS": "停止数",
    "One plan: its reason, who is stopped, and what is asked about it.": (
        "一个计划：原因、停止谁，以及需要作出的决定。"
    ),
    "Plan %(id)s in %(partition)s: %(state)s": "分区 %(partition)s 的计划 %(id)s：%(state)s",
    "Decided by %(who)s: %(reason)s": "由 %(who)s 决定：%(reason)s",
    "since it was opened: ": "提出以来的变化：",
    "%(how)s %(job)s %(name)s (%(user)s)": "%(how)s %(job)s %(name)s（%(user)s）",
    "%(how)s %(job)s %(name)s (%(user)s, ran %(ran)s)": (
        "%(how)s %(job)s %(name)s（%(user)s，已运行 %(ran)s）"
    ),
    "Have a plan carried out.": "让一个计划得到执行。",
    "Turn a plan down.": "驳回一个计划。",
    "Approve plan %(id)s? %(consequence)s": "批准计划 %(id)s？%(consequence)s",
    "Reject plan %(id)s? %(consequence)s": "驳回计划 %(id)s？批准的话：%(consequence)s",
    "Plan %(id)s is %(state)s.": "计划 %(id)s：%(state)s。",
    "nobody is there to be asked; say --yes, or --seen with the mark that `giveway plan` shows": (
        "没有人可以询问；请加 --yes，或加 --seen 和 `giveway plan` 显示的标记"
    ),
    "nothing was done": "什么也没有做",
    "The projects that are mine to see; `projects set` changes one.": (
        "我能看到的项目；`projects set` 用于修改。"
    ),
    "No projects.": "没有项目。",
    "PROJECT": "项目",
    "SIZE": "规模",
    "GRADE": "等级",
    "URGENCY": "紧急程度",
    "SCORE": "得分",
    "Change a project: urgency=4, members=ann,bob, deadline=none.": (
        "修改一个项目：urgency=4、members=ann,bob、deadline=none。"
    ),
    "%(code)s (version %(version)s): %(values)s; score %(score)s": (
        "%(code)s（版本 %(version)s）：%(values)s；得分 %(score)s"
    ),
    "Urgency %(urgency)s waits for an administrator's approval.": "紧急程度 %(urgency)s 等待管理员批准。",
    "%(text)r is no setting; write KEY=VALUE, with one of %(known)s": (
        "%(text)r 不是设置；请写 KEY=VALUE，KEY 为其中之一：%(known)s"
    ),
    "%(name)s must be a number, not %(value)r": "%(name)s 必须是数字，而不是 %(value)r",
    "Stop nobody in a partition, or anywhere, from the next cycle on.": (
        "从下一个周期起，在一个分区或所有分区不再停止任何作业。"
    ),
    "%(what)s is paused by %(who)s": "%(what)s 已由 %(who)s 暂停",
    "%(what)s is paused by %(who)s: %(reason)s": "%(what)s 已由 %(who)s 暂停：%(reason)s",
    "Everything": "全部分区",
    "Lift the pause of a partition, or that of everything.": "解除一个分区的暂停，或全部分区的暂停。",
    "%(what)s: its pause is lifted.": "%(what)s：暂停已解除。",
    "%(what)s is still paused by %(who)s.": "%(what)s 仍由 %(who)s 暂停。",
    "say which partition, or --all": "请说明是哪个分区，或用 --all",
    # --- supposing
    "What another size, grade, urgency or membership of a project would do. Nothing is saved.": (
        "若项目的规模、等级、紧急程度或成员不同，会怎样。不保存任何内容。"
    ),
    "What a draft of a partition's policy, or other values of the one in force, would do. Nothing is saved.": (
        "若采用分区策略的某个草稿，或改动现行策略的某些值，会怎样。不保存任何内容。"
    ),
    "say --draft, or KEY=VALUE of the policy": "请给出 --draft，或策略的 KEY=VALUE",
    "%(text)r is no setting; write KEY=VALUE, with a key of the policy": (
        "%(text)r 不是设置；请写 KEY=VALUE，KEY 为策略的键"
    ),
    "A question about the last days that was asked before: how far it is, or its answer.": (
        "此前提出的关于过去几天的推演：进度或结果。"
    ),
    "%(done)s of %(total)s looks": "%(total)s 次观测中的 %(done)s 次",
    "It goes on; see: giveway study %(id)s": "推演仍在继续；查看：giveway study %(id)s",
    "Nothing changes for the jobs that are there now.": "对现有的作业没有任何变化。",
    "%(partition)s (%(mode)s)": "%(partition)s（%(mode)s）",
    "%(how)s %(job)s %(name)s (%(user)s) for %(other)s (%(whose)s)": (
        "%(how)s %(job)s %(name)s（%(user)s），为了 %(other)s（%(whose)s）"
    ),
    "There was no time for %(name)s; what would change there is not known.": (
        "来不及计算 %(name)s；那里会有什么变化尚不清楚。"
    ),
    "Study %(id)s: %(state)s. %(fault)s": "推演 %(id)s：%(state)s。%(fault)s",
    "Study %(id)s: %(state)s, %(done)s of %(total)s looks. %(fault)s": (
        "推演 %(id)s：%(state)s，已完成 %(total)s 次观测中的 %(done)s 次。%(fault)s"
    ),
    "The change touches no partition.": "这项修改不涉及任何分区。",
    "study %(id)s is %(state)s": "推演 %(id)s：%(state)s",
    "%(partitions)s: %(used)s of %(looks)s recorded looks, %(since)s to %(until)s UTC": (
        "%(partitions)s：用了 %(looks)s 次记录的观测中的 %(used)s 次，%(since)s 至 %(until)s UTC"
    ),
    "together": "合计",
    "DAY": "日期",
    "AS NOW": "按现状",
    "CHANGED": "修改后",
    "GET ROOM": "得到资源",
    "HOURS WAITED": "等待小时数",
    # --- the API
    "the console answers from elsewhere; log in again with its address: %(url)s": (
        "控制台从别处回答；请用它的地址重新登录：%(url)s"
    ),
    "%(url)r is no address of a console; for example https://giveway.example.org": (
        "%(url)r 不是控制台的地址；例如 https://giveway.example.org"
    ),
    "the token holds characters that no token has; do: giveway login": (
        "令牌中有令牌不会有的字符；请执行：giveway login"
    ),
    "%(address)s cannot be reached: %(why)s": "无法连接 %(address)s：%(why)s",
    "%(address)s did not answer: %(why)s": "%(address)s 没有回答：%(why)s",
    "%(address)s is not the API of a Giveway console": "%(address)s 不是 Giveway 控制台的 API",
    "the token is not valid (any more); do: giveway login": "令牌无效（或已失效）；请执行：giveway login",
    "%(address)s answered %(status)s: the console is not there now": (
        "%(address)s 回答 %(status)s：控制台暂时不在"
    ),
    "%(address)s answered %(status)s: is it a Giveway console?": (
        "%(address)s 回答 %(status)s：它是 Giveway 控制台吗？"
    ),
    "%(name)r is no job id and no name; for example 4711 or 41_2": (
        "%(name)r 不是作业号，也不是名称；例如 4711 或 41_2"
    ),
    # --- kept
    "no home folder is known; set GIVEWAY_URL and GIVEWAY_TOKEN": (
        "找不到主目录；请设置 GIVEWAY_URL 和 GIVEWAY_TOKEN"
    ),
    "%(path)s may be read by others; do: chmod 600 %(path)s": (
        "%(path)s 可被他人读取；请执行：chmod 600 %(path)s"
    ),
    "%(path)s cannot be read: %(why)s": "无法读取 %(path)s：%(why)s",
    "%(path)s is not whole; do: giveway login": "%(path)s 不完整；请执行：giveway login",
    "the token cannot be kept: %(why)s": "无法保存令牌：%(why)s",
    "the answer cannot be written: %(why)s": "无法写出回答：%(why)s",
    "not logged in; do: giveway login (or set GIVEWAY_URL and GIVEWAY_TOKEN)": (
        "尚未登录；请执行：giveway login（或设置 GIVEWAY_URL 和 GIVEWAY_TOKEN）"
    ),
    "the token that is kept is for %(kept)s; do: giveway login --url %(url)s": (
        "保存的令牌属于 %(kept)s；请执行：giveway login --url %(url)s"
    ),
    "no token; do: giveway login (or set GIVEWAY_TOKEN)": (
        "没有令牌；请执行：giveway login（或设置 GIVEWAY_TOKEN）"
    ),
    # --- show
    "now": "现在",
    "in %(time)s": "%(time)s后",
    "%(time)s ago": "%(time)s前",
    "d": "天",
    "h": "小时",
    "min": "分钟",
    "s": "秒",
    # --- command
    "giveway: %(message)s (giveway --help tells more)": "giveway: %(message)s（详见 giveway --help）",
    "Ask Giveway about the jobs on this cluster, and steer it.": (
        "向 Giveway 询问本集群的作业，并进行操作。"
    ),
    "commands": "命令",
    "the answer as JSON, for scripts": "以 JSON 输出回答，供脚本使用",
    "for example 4711, or 41_2 of an array": "例如 4711，或作业数组中的 41_2",
    "of somebody else": "其他人的",
    "in this partition only": "仅此分区",
    "also those that ended within the last days": "也包括最近几天结束的",
    "of this user only": "仅此用户",
    "the console's address (or GIVEWAY_URL)": "控制台地址（或 GIVEWAY_URL）",
    "your user name there": "您在那里的用户名",
    "read the password from standard input": "从标准输入读取密码",
    "send the password without encryption": "不加密发送密码",
    "what was saved: epoch=10": "保存了什么：epoch=10",
    "a job that waits; else of one not submitted yet:": "等待中的作业；对尚未提交的作业则用：",
    "where it would be submitted": "将提交到哪个分区",
    "on so many nodes (as few as can be)": "用多少个节点（默认尽量少）",
    "so many CPUs in all (one on each node)": "总共多少个 CPU（默认每个节点一个）",
    "so many GPUs in all (none)": "总共多少个 GPU（默认没有）",
    "so much memory on each node (any)": "每个节点多少内存（默认不限）",
    "its time limit, as for sbatch: 90, 2:00:00, 1-12": "时限，按 sbatch 的写法：90、2:00:00、1-12",
    "for this account": "用这个账户",
    "those that wait for somebody's decision": "等待有人决定的",
    "of this partition": "此分区的",
    "proposed, executing, verified, undone, …": (
        "proposed（已提出）、executing（执行中）、verified（已完成）、undone（已撤销）……"
    ),
    "how many at most (20)": "最多多少个（20）",
    "why; it stands in the audit log": "理由；会写入审计日志",
    "only if it is still what `giveway plan` showed": "仅当它仍与 `giveway plan` 显示的一致",
    "do not ask": "不询问",
    "everything": "全部分区",
    "why, if you like to say": "理由（可不填）",
    "What a change would do, before it is made.": "在修改之前，看它会带来什么。",
    "a draft of it, by its number": "它的某个草稿，用编号",
    "over the last days: waits for the worker": "过去几天：等待工作进程算完",
    "see later: giveway study N": "稍后查看：giveway study N",
    "it is not wanted any more": "不再需要它",
    "Completion for a shell: source <(giveway completion bash).": (
        "shell 补全：source <(giveway completion bash)。"
    ),
}
